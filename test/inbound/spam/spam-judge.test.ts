/** The joined verdict: from a record, its bytes, the classifier, and rspamd. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Authentication } from '../../../src/base/mail/authentication-results.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { Arrival, BayesVerdict, SpamContribution } from '../../../src/base/storage/tables/inbound-tables.js'
import { learnMessage } from '../../../src/inbound/spam/bayes/learn.js'
import { LearnedCounts } from '../../../src/inbound/spam/bayes/learned-counts.js'
import { analyzeContent, analyzeMessage } from '../../../src/inbound/spam/content-analysis.js'
import { buildSpamMessage } from '../../../src/inbound/spam/facts/spam-input.js'
import { type ClassifierOpinion, collectOwnContributions } from '../../../src/inbound/spam/own-points.js'
import { spamContextOf } from '../../../src/inbound/spam/received-spam-message.js'
import type { RspamdClient, RspamdRequest } from '../../../src/inbound/spam/rspamd/rspamd.js'
import { type SpamThresholds, sumScores } from '../../../src/inbound/spam/rules/spam-report.js'
import { SpamJudge, type SpamVerdict } from '../../../src/inbound/spam/spam-judge.js'
import { inboundById, storeInbound } from '../../../src/records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../../src/records/messages/inbound/inbound-record.js'
import type { MimeParts } from '../../../src/records/messages/mime/mime-parts-protocol.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { inboundMail } from '../../helpers/mail/inbound-mail.js'
import { parsedMessage } from '../../helpers/parsed-message.js'
import { learnableOf } from '../../helpers/spam/spam-messages.js'

const now = Date.UTC(2026, 0, 5, 12)
const nothingSeen: Arrival = { earlyTalker: false, listings: [], allowListings: [], spamReason: null }

const results: Authentication = {
  spf: { result: 'softfail', identity: 'mailfrom', domain: 'b.test', reason: null, explanation: null },
  dkim: [
    { result: 'permerror', domain: 'b.test', selector: 's', reason: null },
    { result: 'pass', domain: 'b.test', selector: 't', reason: null },
  ],
  dmarc: {
    result: 'pass',
    domain: 'b.test',
    policyDomain: 'b.test',
    policy: 'none',
    disposition: 'none',
    reason: null,
  },
  arc: { result: 'none', reason: null },
  iprev: { result: 'pass', name: 'mx.b.test' },
  fromFields: 1,
}

/** The results of a sender whose domain has no DMARC policy. */
const unvouched: Authentication = { ...results, dmarc: { ...results.dmarc, result: 'none' } }

function messageOf(text: string): { readonly raw: Buffer; readonly parts: MimeParts } {
  const head = [
    'From: Bob <bob@b.test>',
    'To: info@a.test',
    'Subject: our meeting',
    `Date: ${new Date(now).toUTCString()}`,
    'Message-ID: <1@b.test>',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
  ]
  const raw = Buffer.from([...head, '', text, ''].join('\r\n'))
  return { raw, parts: { html: null, text, headers: [], attachments: [] } }
}

const brought = {
  client_address: '192.0.2.1',
  helo: 'mx.b.test',
  envelope_from: parseAddress('bob@b.test'),
  authentication: toJson({}),
  received_at: now,
}

const gtube = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')

interface Judging {
  readonly database: Database
  readonly email: (arrival?: Partial<Arrival>, authentication?: Authentication | null) => Promise<InboundEmail>
  readonly judged: (
    email: InboundEmail,
    text: string,
    rspamd?: RspamdClient['check'],
    thresholds?: SpamThresholds,
  ) => Promise<SpamVerdict & { readonly lines: readonly SpamContribution[] }>
  /** `dated`: when the learned mail was received. */
  readonly learn: (verdict: BayesVerdict, text: string, count?: number, dated?: number) => Promise<void>
}

function openJudge(
  { read }: Database,
  { suspicious, spam }: SpamThresholds = { suspicious: 4, spam: 8 },
  check?: RspamdClient['check'],
): SpamJudge {
  return new SpamJudge({
    learned: new LearnedCounts(read, () => 0),
    settings: () => ({ suspicious_score: suspicious, spam_score: spam }),
    rspamd: { client: check === undefined ? null : { check } },
  })
}

async function createJudge(t: Test): Promise<Judging> {
  const { database } = await temporaryDatabase(t)
  let made = 0
  let taught = 0
  return {
    database,
    email: async (arrival = {}, authentication = results) => {
      made += 1
      const id = uuidv7(now + made)
      const more = {
        arrival: { ...nothingSeen, ...arrival },
        authentication: authentication ?? {},
        received_at: now,
      }
      await database.commit(storeInbound(inboundMail({ id, ...more }), Buffer.from('x')))
      const [email] = await inboundById(database.read, { id, workspaceId: 'ws_1' })
      if (email === undefined) throw new Error('not filed')
      return email
    },
    judged: async (email, text, rspamd, thresholds) => {
      const { raw, parts } = messageOf(text)
      const judge = openJudge(database, thresholds, rspamd)
      const verdict = await judge.judge(email, raw, analyzeContent(parsedMessage(raw, parts), spamContextOf(email)))
      return { ...verdict, lines: JSON.parse(verdict.spam_report) as SpamContribution[] }
    },
    learn: async (verdict, text, count = 200, dated = now) => {
      const { raw, parts } = messageOf(text)
      const message = {
        ...buildSpamMessage(parsedMessage(raw, parts), spamContextOf(brought)),
        fields: [],
        receivedAt: dated,
      }
      const lessons = Array.from({ length: count }, () => {
        taught += 1
        const fingerprint = `${verdict} ${text} ${taught}`
        return learnMessage(database, { workspaceId: 'ws_1', fingerprint, verdict, ...learnableOf(message), at: now })
      })
      await Promise.all(lessons)
    },
  }
}

/** The contribution of a classifier that knows recent mail. */
const opinion = (probability: number | null): ClassifierOpinion | null =>
  probability === null ? null : { probability, recent: { spam: 200, ham: 200 } }

const names = (lines: readonly SpamContribution[]): readonly string[] => lines.map(({ name }) => name)

t.test('the facts name the client and the results of authentication', async (t) => {
  const { email } = await createJudge(t)
  const { raw, parts } = messageOf('hello')
  t.match(buildSpamMessage(parsedMessage(raw, parts), spamContextOf(await email())), {
    origin: { envelopeFrom: 'bob@b.test', clientAddress: '192.0.2.1', helo: 'mx.b.test', reverseName: 'mx.b.test' },
    authentication: { spf: 'softfail', dkim: 'pass', dmarc: 'pass', iprev: 'pass' },
    receivedAt: now,
    subject: 'our meeting',
  })
  const unknown = buildSpamMessage(parsedMessage(raw, parts), spamContextOf(await email({}, null)))
  t.equal(unknown.authentication, null)
  t.equal(unknown.origin?.reverseName, null)
})

t.test('an ordinary letter is clean, and its report adds up to its score in hundredths', async (t) => {
  const { email, judged } = await createJudge(t)
  const { spam_status, spam_score, lines } = await judged(await email(), 'shall we meet on monday?')
  t.equal(spam_status, 'clean')
  t.same(names(lines), ['SPF_SOFTFAIL', 'DMARC_PASS'])
  t.equal(spam_score, Math.round(sumScores(lines) * 100))
  t.ok(lines.every(({ description }) => description !== ''))
})

t.test('block lists and early talking weigh as configured', async (t) => {
  const { email, judged } = await createJudge(t)
  const listings = [
    { zone: 'bl.b-list.test', weight: 3.5, answer: '127.0.0.4' },
    ...Array.from({ length: 40 }, (_, at) => ({ zone: `l${at}.test`, weight: 0.01, answer: '127.0.0.2' })),
  ]
  const plain = (await judged(await email(), 'hello')).spam_score ?? 0
  const { lines, spam_score } = await judged(await email({ earlyTalker: true, listings }), 'hello')
  t.match(lines[0], { name: 'DNSBL_BL_B_LIST_TEST', score: 3.5, description: /bl\.b-list\.test .*\(127\.0\.0\.4\)/ })
  t.match(lines[1], { name: 'EARLY_TALKER', score: 2.5 })
  t.equal(names(lines).filter((name) => name.startsWith('DNSBL_')).length, 20, 'bounded')
  t.equal(spam_score, plain + 350 + 19 + 250)
})

t.test('a message that was accepted as spam is spam at any score, with a line that says why', async (t) => {
  const { email, judged } = await createJudge(t)
  const { spam_status, spam_score, lines } = await judged(await email({ spamReason: 'dmarc-quarantine' }), 'hello')
  t.equal(spam_status, 'spam')
  t.equal(spam_score, 800)
  t.match(lines[0], { name: 'DMARC_QUARANTINE', description: /domain asks.*raises the score/ })
  const listings = [{ zone: 'bl.test', weight: 50, answer: '127.0.0.4' }]
  const high = await judged(await email({ spamReason: 'dmarc-reject', listings }), 'hello')
  t.ok((high.spam_score ?? 0) > 5_000)
  t.match(
    high.lines.find(({ name }) => name === 'DMARC_REJECT'),
    { score: 0 },
  )
  const other = await judged(await email({ spamReason: 'some new\nreason' }), 'hello', undefined, {
    suspicious: 1,
    spam: 30,
  })
  t.equal(other.spam_score, 3_000, 'the threshold is the configured one')
  t.match(other.lines[0], { name: 'SOME_NEW_REASON', description: /classified as spam when it arrived/ })
})

t.test('the classifier counts for its own workspace, and findings shared with the rules count once', async (t) => {
  const { email, judged, learn, database } = await createJudge(t)
  const advert = 'Click here to be removed! 100% free, no obligation, act now, limited offer! Order viagra today!!!'
  const before = await judged(await email({}, unvouched), advert)
  t.notOk(
    names(before.lines).some((name) => name.startsWith('BAYES')),
    'silent before it has learned',
  )
  await learn('spam', advert)
  await learn('ham', 'shall we meet on monday? minutes of the board attached')
  const { lines, spam_score } = await judged(await email({}, unvouched), advert)
  t.match(lines[0], { name: 'BAYES_SPAM_CERTAIN', score: 8 })
  const content = sumScores(before.lines.filter(({ name }) => !/SPF|DMARC/.test(name)))
  t.ok(content > 1, `the rules alone: ${content}`)
  t.match(lines.at(-1), { name: 'SAME_EVIDENCE', score: -Math.min(8, content) })
  t.equal(spam_score, Math.round((Math.max(8, content) + 1) * 100), 'authentication is evidence of its own')
  const ham = await judged(await email(), 'minutes of the board, monday')
  t.match(ham.lines.at(-1), { name: 'BAYES_HAM_CERTAIN', score: -3 })
  t.notOk(names(ham.lines).includes('SAME_EVIDENCE'))
  const other = { ...(await email({}, unvouched)), workspace_id: 'ws_2' }
  t.notOk(names((await judged(other, advert)).lines).some((name) => name.startsWith('BAYES')))
  t.ok(database)
})

t.test('rules on content alone make nothing spam if a trained classifier does not agree', async (t) => {
  const advert = [
    'Click here to be removed from our mailing list! 100% free, no obligation, act now, limited offer!',
    'Order viagra today, make money fast, work from home, double your income, refinance your mortgage,',
    'satisfaction guaranteed, risk free, this is not spam, http://192.0.2.1/remove http://192.0.2.1/order',
  ].join('\r\n')
  const { raw, parts } = messageOf(advert)
  const { rules } = analyzeMessage(buildSpamMessage(parsedMessage(raw, parts), spamContextOf(brought)))
  const thresholds = { suspicious: 4, spam: 8 }
  const own = (probability: number | null, arrival: Partial<Arrival> = {}, of = thresholds): number =>
    sumScores(collectOwnContributions(rules, opinion(probability), { ...nothingSeen, ...arrival }, of))
  const alone = own(null)
  t.ok(alone > 8, `the rules alone: ${alone}`)
  t.equal(own(0.95), alone, 'it agrees')
  t.equal(own(0.8), 7.99)
  t.equal(own(0.5), 7.99)
  t.ok(own(0.001) <= 7.99)
  t.equal(own(0.5, { earlyTalker: true }), 10.49, 'the client is evidence of its own')
  t.equal(own(0.5, {}, { suspicious: 1, spam: 5 }), 4.99)
  t.equal(own(0.8, {}, { suspicious: 1, spam: 3 }), alone, 'its own points are spam there')
  const doubts = collectOwnContributions(rules, opinion(0.5), nothingSeen, thresholds).at(-1)
  t.match(doubts, { name: 'CLASSIFIER_DOUBTS', score: Math.round((7.99 - alone) * 100) / 100 })
  const test = messageOf(gtube)
  const said = analyzeMessage(buildSpamMessage(parsedMessage(test.raw, test.parts), spamContextOf(brought))).rules
  t.ok(
    sumScores(collectOwnContributions(said, opinion(0.001), nothingSeen, thresholds)) > 900,
    'the line to test filters with is no content',
  )
})

const day = 86_400_000
const advert = 'order your viagra from us, a miracle of a price'
const letter = 'minutes of the board for monday are attached'

t.test('a classifier that knows little recent mail moves a score by two points at most', async (t) => {
  const { email, judged, learn } = await createJudge(t)
  const points = async (text: string): Promise<Readonly<Record<string, number>>> => {
    const { lines } = await judged(await email({}, unvouched), text)
    return Object.fromEntries(
      lines.filter(({ name }) => /BAYES|CLASS/.test(name)).map(({ name, score }) => [name, score]),
    )
  }
  await learn('spam', advert, 199)
  await learn('ham', letter, 199)
  await learn('spam', advert, 60, now - 181 * day)
  await learn('ham', letter, 60, now - 181 * day)
  await learn('ham', letter, 10, now + 2 * day)
  await learn('ham', letter, 10, 0)
  t.same(await points(advert), { BAYES_SPAM_CERTAIN: 8, CLASSIFIER_UNSEASONED: -6 }, '199 of each, and what is older')
  t.same(await points(letter), { BAYES_HAM_CERTAIN: -3, CLASSIFIER_UNSEASONED: 1 })
  await learn('spam', advert, 1, now - 180 * day)
  t.same(await points(advert), { BAYES_SPAM_CERTAIN: 8, CLASSIFIER_UNSEASONED: -6 }, '200 spam, 199 ham')
  await learn('ham', letter, 1, now - 180 * day)
  t.match(await points(advert), { BAYES_SPAM_CERTAIN: 8, CLASSIFIER_UNSEASONED: undefined }, '200 of each')
  t.same(await points(letter), { BAYES_HAM_CERTAIN: -3 })
})

t.test('against a pass of DMARC the classifier alone flags nothing', async (t) => {
  const { email, judged, learn } = await createJudge(t)
  await learn('spam', advert)
  await learn('ham', letter)
  const vouched = await judged(await email(), advert)
  t.match(
    vouched.lines.find(({ name }) => name === 'CLASSIFIER_AND_DMARC'),
    { score: -5 },
  )
  t.equal(vouched.spam_status, 'clean')
  t.equal((await judged(await email({}, unvouched), advert)).spam_status, 'spam')
  const listings = [{ zone: 'bl.test', weight: 2, answer: '127.0.0.2' }]
  t.equal((await judged(await email({ listings }), advert)).spam_status, 'suspicious', 'it is not alone')
})

t.test('impersonation is evidence beside the words, and the classifier has no say in it', async (t) => {
  const thresholds = { suspicious: 4, spam: 8 }
  const rules = [
    { name: 'AUTHOR_POSES_AS_BRAND', score: 2.5, description: '' },
    { name: 'FRAUD_ACCOUNT', score: 2, description: '' },
  ]
  const total = (said: ClassifierOpinion): number =>
    sumScores(collectOwnContributions(rules, said, nothingSeen, thresholds))
  t.equal(total({ probability: 1, recent: { spam: 0, ham: 0 } }), 4.5, 'two points of words, counted once')
  t.equal(total({ probability: 0.001, recent: { spam: 0, ham: 0 } }), 2.5, 'honest words take off what words gave')
  const alone = collectOwnContributions(
    rules.slice(0, 1),
    { probability: 0, recent: { spam: 0, ham: 0 } },
    nothingSeen,
    thresholds,
  )
  t.equal(sumScores(alone), 2.5)
  t.equal(
    total({ probability: 0, recent: { spam: 200, ham: 200 } }),
    1.5,
    'a classifier that knows its mail is believed',
  )
  t.equal(total({ probability: 1, recent: { spam: 200, ham: 200 } }), 10.5)
})

t.test('rspamd gets the facts of the record, and its verdict is one among the others', async (t) => {
  const { email, judged } = await createJudge(t)
  const asked: RspamdRequest[] = []
  const says: RspamdClient['check'] = async (question) => {
    asked.push(question)
    return {
      score: 12,
      requiredScore: 15,
      action: 'add header',
      symbols: [{ name: 'R_BAD', score: 12, description: 'bad' }],
    }
  }
  const record = await email()
  const { lines, spam_score, spam_status } = await judged(record, 'hello', says)
  t.match(asked, [{ id: record.id, recipients: ['info@a.test'], origin: { clientAddress: '192.0.2.1' } }])
  t.same(asked[0]?.raw, messageOf('hello').raw)
  t.equal(spam_score, 640, '12 of 15 as of 8; our half point is in it')
  t.equal(spam_status, 'suspicious')
  t.match(lines[0], { name: 'RSPAMD_R_BAD', score: 6.4 })
  t.equal(Math.round(sumScores(lines) * 100), spam_score)
  const silent = await judged(record, 'hello', async () => null)
  t.same(names(silent.lines), ['SPF_SOFTFAIL', 'DMARC_PASS'], 'without it our own score stands')
})

t.test('every message has a verdict whose report adds up, odd ones too', async (t) => {
  const { email, judged } = await createJudge(t)
  t.match(await judged(await email(), gtube), { spam_status: 'spam', lines: [{ name: 'GTUBE', score: 1000 }] })
  const { database } = await createJudge(t)
  const judge = openJudge(database)
  for (const raw of ['', '\r\n', 'no header\r\n', 'From: \r\n\r\n', `X: ${'y'.repeat(100_000)}\r\n\r\n`]) {
    const bytes = Buffer.from(raw)
    const record = await email()
    const parts = { html: null, text: null, headers: [], attachments: [] }
    const { spam_score, spam_report } = await judge.judge(
      record,
      bytes,
      analyzeContent(parsedMessage(bytes, parts), spamContextOf(record)),
    )
    t.equal(spam_score, Math.round(sumScores(JSON.parse(spam_report) as SpamContribution[]) * 100))
  }
})

t.test('content that could not be parsed is reported as unscored, and the other facts count', async (t) => {
  const { database, email } = await createJudge(t)
  const judge = openJudge(database)
  const { spam_report, spam_score } = await judge.judge(await email({ earlyTalker: true }), Buffer.from('x'), null)
  t.match(names(JSON.parse(spam_report) as SpamContribution[]), ['EARLY_TALKER', 'CONTENT_NOT_SCORED'])
  t.ok(spam_score !== null && spam_score > 0)
})
