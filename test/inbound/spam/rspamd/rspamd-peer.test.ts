/** Debian's rspamd as a peer. */

import t from 'tap'
import type { RspamdVerdict } from '../../../../src/inbound/spam/rspamd/rspamd-answer.js'
import { collectRspamdContributions } from '../../../../src/inbound/spam/rspamd-points.js'
import { defaultSpamThresholds, sumScores } from '../../../../src/inbound/spam/rules/spam-report.js'
import { rspamdPeer } from '../../../helpers/programs/rspamd-peer.js'
import { skipWithout } from '../../../helpers/programs/skip-without.js'
import { buildVerdict, createClient, rspamdRequest, sumPoints } from '../../../helpers/spam/rspamd-client.js'

const gtube = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')

t.test("Debian's rspamd", { skip: skipWithout('rspamd') }, async (t) => {
  const { ask, log } = createClient((await rspamdPeer(t)).url)
  const said = (...lines: readonly string[]): Promise<RspamdVerdict | null> =>
    ask({ ...rspamdRequest, raw: Buffer.from([...lines, ''].join('\r\n')) })

  await t.test('gives symbols, whose scores add up to its score', async (t) => {
    const found = await said(
      'From: Bob <bob@b.test>',
      'To: info@a.test',
      'Subject: save money',
      'Date: yesterday',
      'MIME-Version: 1.0',
      'Content-Type: text/html',
      '',
      '<html><body>cheap</body></html>',
    )
    const symbols = found?.symbols ?? []
    t.match(found, { requiredScore: 15, action: 'none' })
    t.match(
      symbols.find(({ name }) => name === 'INVALID_DATE'),
      { score: 1.5, description: /\w+/ },
    )
    t.ok((found?.score ?? 0) > 2, String(found?.score))
    t.equal(sumScores(symbols.map((symbol) => ({ ...symbol }))), Math.round((found?.score ?? 0) * 100) / 100)
    const own = collectRspamdContributions(0, found ?? buildVerdict({}), defaultSpamThresholds)
    t.equal(sumScores(own), Math.round(((found?.score ?? 0) * 800) / 15) / 100)
  })

  await t.test('accepts the test line for spam filters', async (t) => {
    const found = await said('From: bob@b.test', 'Subject: test', '', gtube)
    t.equal(found?.action, 'reject')
    t.equal(sumPoints(0, found ?? {}), 8)
  })

  await t.test('gets the envelope', async (t) => {
    const found = await said('From: Bob <eve@c.test>', 'To: info@a.test', 'Subject: hello', '', 'hello')
    const names = found?.symbols.map(({ name }) => name) ?? []
    t.match(names.join(' '), /FROM_NEQ_ENVFROM/)
    t.match(names.join(' '), /TO_MATCH_ENVRCPT_ALL/)
    const withoutTo = await said('From: Bob <eve@c.test>', 'To: nobody@d.test', 'Subject: hello', '', 'hello')
    t.notMatch(JSON.stringify(withoutTo), /TO_MATCH_ENVRCPT_ALL/, 'it knows the recipients')
  })

  await t.test('reads odd messages and odd envelopes without complaint', async (t) => {
    const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7) % 256))
    for (const raw of [Buffer.from('\r\n'), bytes]) t.not(await ask({ ...rspamdRequest, raw }), null)
    const bareOrigin = { envelopeFrom: '', clientAddress: '2001:db8::1', helo: '[x]', reverseName: null }
    t.not(await ask({ ...rspamdRequest, origin: bareOrigin, recipients: ['"a b"@a.test', 'grüße@a.test'] }), null)
  })

  t.same(log, [])
})
