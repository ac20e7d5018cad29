/** The score before the answer: it refuses only what is certain, and is never in the way of a message. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type DomainName, parseAddress } from '../../../src/base/mail/address.js'
import type { Authentication } from '../../../src/base/mail/authentication-results.js'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import { MessageBytes } from '../../../src/base/storage/db/message-bytes.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { SpamStatus } from '../../../src/base/storage/tables/inbound-tables.js'
import { CrashGuard } from '../../../src/inbound/receiving/analysis/crash-guard.js'
import { EarlyAnalyzer } from '../../../src/inbound/receiving/analysis/early-analyzer.js'
import type { InboundSummary } from '../../../src/inbound/receiving/analysis/inbound-content.js'
import type { ReceivedMessage } from '../../../src/inbound/receiving/authentication/received-message.js'
import { EarlyScorer } from '../../../src/inbound/receiving/early-scorer.js'
import type { InboundDestination } from '../../../src/inbound/receiving/recipients/destinations.js'
import type { SpamVerdict } from '../../../src/inbound/spam/spam-judge.js'
import type { RawSource } from '../../../src/records/messages/mime/mime-parts.js'
import { temporaryFolder } from '../../helpers/database/database.js'

type Analyze = ConstructorParameters<typeof EarlyAnalyzer>[0]['mime']['analyze']

const authentication: Authentication = {
  spf: { result: 'none', identity: 'helo', domain: '', reason: null, explanation: null },
  dkim: [],
  dmarc: { result: 'none', domain: null, policyDomain: null, policy: null, disposition: 'none', reason: null },
  arc: { result: 'none', reason: null },
  iprev: { result: 'fail', name: null },
  fromFields: 1,
}

const summary: InboundSummary = {
  message_id: null,
  reference_ids: toJson([]),
  from_email: '',
  from_name: '',
  to_emails: toJson([]),
  cc_emails: toJson([]),
  subject: '',
  has_html: 0,
  has_text: 1,
  attachment_count: 0,
  in_reply_to: null,
  attachments: [],
}

function mailTo(workspaceId: string): InboundDestination {
  const domain = `${workspaceId}.test` as DomainName
  return { kind: 'mail', workspaceId, domain, addresses: [parseAddress(`a@${domain}`)] }
}

function scored(raw: Buffer, destinations: readonly InboundDestination[]) {
  const client = { session: 's', address: '192.0.2.1', port: 1, helo: 'h.test', earlyTalker: false }
  const message: ReceivedMessage = {
    envelopeFrom: '',
    recipients: [parseAddress('a@one.test')],
    bytes: MessageBytes.lent(raw),
    header: scanHeader(raw),
    client: { ...client, listings: [], allowListings: [] },
    tls: null,
    protocol: 'ESMTP',
    smtputf8: false,
  }
  const arrival = { earlyTalker: false, listings: [], allowListings: [], spamReason: null }
  return { message, authentication, destinations, arrival, now: 1_000 }
}

const spam = Buffer.from('From: a@b.test\r\nSubject: x\r\n\r\nspam\r\n')

function scorer(
  t: Test,
  statuses: Readonly<Record<string, SpamStatus>>,
  { analyze, timeLimit }: { readonly analyze?: Analyze; readonly timeLimit?: number } = {},
  file = join(temporaryFolder(t), 'in-hand-early'),
) {
  const read: Buffer[] = []
  const logged: unknown[] = []
  const crashGuard = new CrashGuard(file, { warn: (...line: unknown[]) => logged.push(line) })
  const readAll: Analyze = async (_workspaceId, source) => {
    const raw = await source()
    if (raw === undefined) return { kind: 'unreadable', why: 'gone', message: '' }
    read.push(raw)
    return { kind: 'analyzed', summary, analysis: { rules: [], keys: '' } }
  }
  const analyzer = new EarlyAnalyzer({
    mime: { analyze: analyze ?? readAll },
    crashGuard,
    log: { info: (...line: unknown[]) => logged.push(line) },
  })
  const judge = async ({ workspace_id }: { readonly workspace_id: string }): Promise<SpamVerdict> => ({
    ...{ spam_status: statuses[workspace_id] ?? 'clean', spam_score: 0, spam_report: toJson([]) },
  })
  const limit = timeLimit === undefined ? {} : { timeLimit }
  const early = new EarlyScorer({ analyzer, judge: { judge }, ...limit })
  const isSpamForAll: EarlyScorer['isSpamForAll'] = (message) => early.isSpamForAll(message)
  return { isSpamForAll, stop: () => analyzer.stop(), read, logged, file }
}

t.test('a message is spam only if it is for each workspace', async (t) => {
  const { isSpamForAll, read, logged } = scorer(t, { one: 'spam', two: 'spam', three: 'suspicious' })
  t.equal(await isSpamForAll(scored(spam, [mailTo('one')])), true)
  t.equal(await isSpamForAll(scored(spam, [mailTo('one'), mailTo('two')])), true)
  t.equal(await isSpamForAll(scored(spam, [mailTo('one'), mailTo('three')])), false)
  t.equal(await isSpamForAll(scored(spam, [{ kind: 'report', addresses: [] }, mailTo('one')])), false)
  t.equal(await isSpamForAll(scored(spam, [])), false)
  t.ok(read.length > 0)
  t.ok(
    read.every((raw) => raw !== spam),
    'the process gets a copy, for the message itself goes to the writer',
  )
  t.same(logged, [])
})

t.test('in doubt a message is accepted', async (t) => {
  const never = new Promise<never>(() => undefined)
  const analyses: Readonly<Record<string, Analyze>> = {
    late: () => never,
    refused: () => Promise.reject(new Error('too many messages')),
    unreadable: async () => ({ kind: 'unreadable', why: 'memory', message: '' }),
    unanalyzed: async (_workspaceId, source) => {
      source()
      return { kind: 'analyzed', summary, analysis: null }
    },
  }
  for (const [name, analyze] of Object.entries(analyses)) {
    const { isSpamForAll } = scorer(t, { one: 'spam' }, { analyze, timeLimit: 5 })
    t.equal(await isSpamForAll(scored(spam, [mailTo('one')])), false, name)
  }
  const large = Buffer.concat([spam, Buffer.alloc(1_048_576, 'a')])
  t.equal(await scorer(t, { one: 'spam' }).isSpamForAll(scored(large, [mailTo('one')])), false, 'a large one')
})

t.test('a message whose turn comes after its time is not read any more', async (t) => {
  let source: RawSource | undefined
  const analyze: Analyze = (_workspaceId, given) => {
    source = given
    return new Promise(() => undefined)
  }
  const { isSpamForAll, logged } = scorer(t, { one: 'spam' }, { analyze, timeLimit: 5 })
  t.equal(await isSpamForAll(scored(spam, [mailTo('one')])), false)
  t.ok(source?.() === undefined)
  t.equal(logged.length, 1)
})

t.test('at most a hundred at a time', async (t) => {
  const waiting: (() => void)[] = []
  const analyze: Analyze = async (_workspaceId, source) => {
    source()
    await new Promise<void>((resolve) => waiting.push(resolve))
    return { kind: 'analyzed', summary, analysis: { rules: [], keys: '' } }
  }
  const { isSpamForAll } = scorer(t, { one: 'spam' }, { analyze })
  const first = Array.from({ length: 100 }, () => isSpamForAll(scored(spam, [mailTo('one')])))
  t.equal(await isSpamForAll(scored(spam, [mailTo('one')])), false, 'the next one')
  for (const resolve of waiting) resolve()
  t.same(await Promise.all(first), Array(100).fill(true))
})

t.test('a message that was being scored at a crash is accepted when it comes again', async (t) => {
  const file = join(temporaryFolder(t), 'in-hand-early')
  const analyze: Analyze = (_workspaceId, source) => {
    source()
    return new Promise(() => undefined)
  }
  const dying = scorer(t, { one: 'spam' }, { analyze, timeLimit: 50 }, file)
  void dying.isSpamForAll(scored(spam, [mailTo('one')]))
  // The process ends here; the next one opens the same file.
  const next = scorer(t, { one: 'spam' }, {}, file)
  t.equal(await next.isSpamForAll(scored(spam, [mailTo('one')])), false)
  t.equal(next.read.length, 0, 'unread')
  const other = Buffer.from('From: a@b.test\r\n\r\nother spam\r\n')
  t.equal(await next.isSpamForAll(scored(other, [mailTo('one')])), true)
  const third = scorer(t, { one: 'spam' }, {}, file)
  t.equal(await third.isSpamForAll(scored(spam, [mailTo('one')])), false, 'and after a further crash')
  await third.stop()
  t.equal(await scorer(t, { one: 'spam' }, {}, file).isSpamForAll(scored(spam, [mailTo('one')])), true, 'a clean stop')
})
