/**
 * Complete messages: mail of services to their users is clean, by the rules and beside a classifier that knows old
 * mail only; present-day fraud is not.
 */
import t from 'tap'
import { buildSpamMessage } from '../../../src/inbound/spam/facts/spam-input.js'
import type { SpamAuthentication, SpamMessage } from '../../../src/inbound/spam/facts/spam-message.js'
import { collectOwnContributions } from '../../../src/inbound/spam/own-points.js'
import { scoreByRules, spamStatusOf, sumScores } from '../../../src/inbound/spam/rules/spam-report.js'
import type { MimeAttachment } from '../../../src/records/messages/mime/mime-parts-protocol.js'
import { phishingMail } from '../../fixtures/phishing-mail.js'
import { type FixtureMail, transactionalMail } from '../../fixtures/transactional-mail.js'
import { parsedMessage } from '../../helpers/parsed-message.js'

const receivedAt = Date.UTC(2026, 10, 21, 12, 0, 5)
const passed: SpamAuthentication = { spf: 'pass', dkim: 'pass', dmarc: 'pass', iprev: 'pass' }
const nothingSeen = { earlyTalker: false, listings: [], allowListings: [], spamReason: null }
const thresholds = { suspicious: 4, spam: 8 }

/** It shows its own address over a link to elsewhere: fraud does so too, unless the author is proved. */
const needsProof = new Set(['button through a service that counts clicks'])

function messageOf(mail: FixtureMail, authentication: SpamAuthentication | null): SpamMessage {
  const head = [
    `From: ${mail.from}`,
    `To: ${mail.to ?? 'Tom Wood <tom@service.example>'}`,
    `Subject: ${mail.subject}`,
    'Date: Sat, 21 Nov 2026 12:00:00 +0000',
    'Message-ID: <20261121.1@mail.harbor.example>',
    'MIME-Version: 1.0',
    ...(mail.fields ?? []),
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
  ]
  const raw = Buffer.from([...head, '', mail.html ?? '', ''].join('\r\n'))
  const attachments = (mail.attachments ?? []).map(
    (one): MimeAttachment => ({ ...one, size: 4_000, content_id: 'a', disposition: 'inline' }),
  )
  const parts = { html: mail.html, text: mail.text ?? null, headers: [], attachments }
  return buildSpamMessage(parsedMessage(raw, parts), { receivedAt, origin: null, authentication })
}

t.test('no mail of services to their users is flagged, whatever a classifier trained on old mail says', async (t) => {
  for (const [kind, mail] of Object.entries(transactionalMail)) {
    const { contributions, score } = scoreByRules(messageOf(mail, passed))
    t.ok(score < thresholds.suspicious, `${kind}: rules`, { contributions })
    for (const recent of [
      { spam: 0, ham: 0 },
      { spam: 199, ham: 5_000 },
      { spam: 5_000, ham: 5_000 },
    ]) {
      const all = collectOwnContributions(contributions, { probability: 1, recent }, nothingSeen, thresholds)
      t.ok(sumScores(all) < thresholds.suspicious, `${kind}: ${recent.spam} spam learned`, { all })
    }
    const unproved = collectOwnContributions(
      scoreByRules(messageOf(mail, { ...passed, dmarc: 'none' })).contributions,
      { probability: 1, recent: { spam: 0, ham: 0 } },
      nothingSeen,
      thresholds,
    )
    if (!needsProof.has(kind)) t.ok(sumScores(unproved) < thresholds.suspicious, `${kind}: without DMARC`, { unproved })
  }
})

t.test('present-day fraud from an unknown sender is flagged by the rules alone', async (t) => {
  for (const [kind, mail] of Object.entries(phishingMail)) {
    const { contributions, score } = scoreByRules(messageOf(mail, null))
    t.not(spamStatusOf(score), 'clean', kind, { contributions })
    const young = { probability: 0.001, recent: { spam: 0, ham: 0 } }
    const joined = sumScores(collectOwnContributions(contributions, young, nothingSeen, thresholds))
    t.not(spamStatusOf(joined), 'clean', `${kind}: to a classifier of old mail it is ham`, { contributions })
  }
})
