/** A message is accepted for all of its recipients, or for none. */
import t from 'tap'
import { type Address, parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import type { Authentication } from '../../../src/base/mail/authentication-results.js'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import { MessageBytes } from '../../../src/base/storage/db/message-bytes.js'
import { type Write, WriteConflict } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { AnalyzedContent } from '../../../src/inbound/receiving/analysis/inbound-analyzer.js'
import { type AcceptorDeps, InboundAcceptor } from '../../../src/inbound/receiving/inbound-acceptor.js'
import type { InboundRecipient } from '../../../src/inbound/receiving/recipients/recipient-policy.js'
import type { ProcessedInbound } from '../../../src/records/messages/inbound/inbound-record.js'
import { defaultInboundPolicy } from '../../../src/workspaces/domains/rows/inbound-policy.js'

const home = parseAddress('a@home.test')
const other = parseAddress('b@other.test')
const forged = parseAddress('bounce+x@mail.home.test')

const mailbox = (workspaceId: string): InboundRecipient => ({
  kind: 'mailbox',
  workspaceId,
  domain: parseDomainName(`${workspaceId}.test`),
})

const found: Authentication = {
  spf: { result: 'none', identity: 'helo', domain: '', reason: null, explanation: null },
  dkim: [],
  dmarc: { result: 'none', domain: null, policyDomain: null, policy: null, disposition: 'none', reason: null },
  arc: { result: 'none', reason: null },
  iprev: { result: 'fail', name: null },
  fromFields: 1,
}

const text = Buffer.from('From: x@b.test\r\nSubject: x\r\n\r\ntext\r\n')

/** What a test changes of what the acceptor uses. */
interface Changes {
  readonly commit?: AcceptorDeps['commits']['commit']
  readonly clock?: AcceptorDeps['clock']
  readonly authenticate?: AcceptorDeps['authenticator']['authenticate']
  readonly policyOf?: AcceptorDeps['policy']['findInboundPolicy']
  readonly processEarly?: AcceptorDeps['earlyProcessor']['process']
  readonly isSpamForAll?: AcceptorDeps['earlyScorer']['isSpamForAll']
  readonly givesAccess?: boolean
}

function recordAcceptance(
  recipientOf: AcceptorDeps['policy']['classify'],
  raw: Buffer = text,
  changes: Changes = {},
): {
  readonly take: (...recipients: [Address, ...Address[]]) => Promise<{ readonly id: string }>
  readonly written: Write[]
  readonly filed: string[]
  readonly logged: unknown[]
} {
  const written: Write[] = []
  const filed: string[] = []
  const logged: unknown[] = []
  const record = async (writes: readonly Write[]): Promise<void> => {
    written.push(...writes)
  }
  const acceptor = new InboundAcceptor({
    commits: { commit: changes.commit ?? record },
    clock: changes.clock ?? (() => 1000),
    log: { info: (line: unknown) => logged.push(line), error: (line: unknown) => logged.push(line) },
    hostname: 'mx.test',
    settings: () => ({ dmarc: 'reject' }),
    authenticator: {
      authenticate:
        changes.authenticate ??
        (async () => ({ authentication: found, authenticationJson: toJson(found), form: null })),
    },
    policy: { classify: recipientOf, findInboundPolicy: changes.policyOf ?? (async () => defaultInboundPolicy) },
    operatorWorkspace: { find: async () => 'home' },
    inboundBytes: { requireRoom: async () => null },
    accessLinks: { areInReceived: async () => changes.givesAccess ?? false },
    earlyProcessor: { process: changes.processEarly ?? (async () => null) },
    earlyScorer: { isSpamForAll: changes.isSpamForAll ?? (async () => false) },
    processor: { onStored: (workspaceId) => filed.push(workspaceId) },
  })
  const client = {
    session: 'session',
    address: '192.0.2.1',
    port: 1,
    helo: 'h.test',
    earlyTalker: false,
    listings: [],
    allowListings: [],
  }
  const same = {
    envelopeFrom: '',
    bytes: MessageBytes.lent(raw),
    header: scanHeader(raw),
    client,
    tls: null,
    protocol: 'ESMTP',
    smtputf8: false,
  } as const
  return { take: (...recipients) => acceptor.accept({ ...same, recipients }), written, filed, logged }
}

t.test('each of two workspaces gets a record, a return path without a token gets none', async (t) => {
  const { take, written, filed, logged } = recordAcceptance(async (address) => {
    if (address === forged) return { kind: 'return-path', recipientId: null }
    return mailbox(address === home ? 'home' : 'other')
  })
  await take(forged)
  t.same([written, filed], [[], []])
  t.match(logged, [{ client: '192.0.2.1', times: 1 }], 'it is counted')
  t.equal(logged.length, 1)
  await take(home, forged, other)
  t.same(filed, ['home', 'other'])
  t.match(logged.slice(1), [{ inbound: [String, String] }, { times: 2 }])
  t.equal(written.length, 4)
})

t.test('a message whose recipient was removed since RCPT is not acknowledged', async (t) => {
  for (const why of ['unknown', 'blocked', 'relay'] as const) {
    const { take, written } = recordAcceptance(async (address) =>
      address === home ? mailbox('home') : { kind: 'refused', why },
    )
    await t.rejects(take(other), { message: /just been removed/ })
    await t.rejects(take(home, other), { message: /just been removed/ })
    t.same(written, [])
  }
})

t.test('the header of a message is not scanned again, however many copies are made of it', async (t) => {
  const raw = Buffer.from(text)
  const { take, written } = recordAcceptance(async (address) => mailbox(address === home ? 'home' : 'other'), raw)
  let names = 0
  // A scan reads the name of each field.
  raw.toString = (...read) => {
    names += 1
    return Buffer.prototype.toString.apply(raw, read)
  }
  await take(home, other)
  t.equal(written.length, 4)
  t.equal(names, 0)
})

const content: ProcessedInbound = {
  id: 'x',
  workspace_id: 'home',
  message_id: null,
  reference_ids: toJson([]),
  from_email: 'x@b.test',
  from_name: '',
  to_emails: toJson([]),
  cc_emails: toJson([]),
  subject: 'x',
  has_html: 0,
  has_text: 1,
  attachment_count: 0,
  spam_status: 'spam',
  spam_score: 900,
  spam_report: toJson([]),
  at: 1001,
}
const marker: Write = { sql: 'a write of the processing', parameters: [] }

t.test('the results of a message that is processed before its answer are in the commit that stores it', async (t) => {
  const commits: (readonly Write[])[] = []
  const committed: string[] = []
  const { take, filed } = recordAcceptance(async () => mailbox('home'), text, {
    commit: async (writes) => {
      commits.push(writes)
    },
    processEarly: async (_message, { email }) => ({
      content: { ...content, id: email.id },
      writes: [marker],
      mayBeFiled: true,
      onCommitted: () => committed.push(email.id),
    }),
  })
  const { id } = await take(home)
  t.equal(commits.length, 1)
  t.same(commits[0]?.at(-1), marker)
  t.ok(commits[0]?.[0]?.parameters.includes('processed'))
  t.same([committed, filed], [[id], []])
})

t.test('if a write of the processing misses, the message is stored and processed later', async (t) => {
  const commits: (readonly Write[])[] = []
  const { take, filed } = recordAcceptance(async () => mailbox('home'), text, {
    commit: async (writes) => {
      commits.push(writes)
      if (writes.includes(marker)) throw new WriteConflict('0 rows changed, 1 expected')
    },
    processEarly: async () => ({
      content,
      writes: [marker],
      mayBeFiled: true,
      onCommitted: () => t.fail('it is not committed'),
    }),
  })
  await take(home)
  t.equal(commits.length, 2)
  t.ok(commits[1]?.[0]?.parameters.includes('received'))
  t.same(filed, ['home'])
})

t.test('mail with a link that gives access is stored only with its results, so nobody reads it before', async (t) => {
  const unread = recordAcceptance(async () => mailbox('home'), text, { givesAccess: true })
  await t.rejects(unread.take(home), { message: /cannot be processed now/ })
  t.same([unread.written, unread.filed], [[], []])
  const { take, written, filed } = recordAcceptance(async () => mailbox('home'), text, {
    givesAccess: true,
    processEarly: async () => ({ content, writes: [marker], mayBeFiled: false, onCommitted: () => undefined }),
  })
  await take(home)
  t.same([written.at(-1), filed], [marker, []])
})

t.test('spam is refused for its score where all recipients ask for it, and nothing is stored', async (t) => {
  for (const spam of ['refuse', 'file'] as const) {
    const asked: boolean[] = []
    const { take, written } = recordAcceptance(async () => mailbox('home'), text, {
      policyOf: async () => ({ ...defaultInboundPolicy, spam }),
      processEarly: async (_message, _copy, _content, mayBeRefused) => {
        asked.push(mayBeRefused)
        return { content, writes: [], mayBeFiled: true, onCommitted: () => undefined }
      },
      isSpamForAll: () => t.fail('it is scored once') as never,
    })
    if (spam === 'refuse') await t.rejects(take(home), { message: 'the message is taken for spam' })
    else await take(home)
    t.same([asked, written.length > 0], [[spam === 'refuse'], spam === 'file'])
  }
})

t.test('a message that is large, a report, or for two workspaces is processed after its answer', async (t) => {
  const processEarly = (): never => t.fail('it is processed early') as never
  const large = Buffer.concat([text, Buffer.alloc(65_536, 'a\r\n')])
  await recordAcceptance(async () => mailbox('home'), large, { processEarly }).take(home)
  await recordAcceptance(async () => ({ kind: 'return-path', recipientId: 'r' }), text, { processEarly }).take(forged)
  const recipientOf = async (address: Address) => mailbox(address === home ? 'home' : 'other')
  await recordAcceptance(recipientOf, text, { processEarly }).take(home, other)
})

t.test('a recipient that is removed while the message is processed gets nothing', async (t) => {
  let isGone = false
  const { take, written } = recordAcceptance(
    async () => (isGone ? { kind: 'refused', why: 'unknown' } : mailbox('home')),
    text,
    {
      processEarly: async () => {
        isGone = true
        return { content, writes: [marker], mayBeFiled: true, onCommitted: () => t.fail('it is not committed') }
      },
    },
  )
  await t.rejects(take(home), { message: /just been removed/ })
  t.same(written, [])
})

const form = {
  pieces: [Buffer.from('Received: here\r\n'), text],
  content: { summary: {}, analysis: { rules: [], keys: '' } } as unknown as AnalyzedContent,
}

t.test('a small message with one copy is stored in the form that its thread has made, with its content', async (t) => {
  const asked: unknown[] = []
  const known: unknown[] = []
  const { take, written } = recordAcceptance(async () => mailbox('home'), text, {
    authenticate: async (_bytes, _header, _connection, only) => {
      asked.push(only)
      return { authentication: found, authenticationJson: toJson(found), form }
    },
    processEarly: async (_message, _copy, content) => {
      known.push(content)
      return null
    },
  })
  const { id } = await take(home)
  t.match(asked, [{ workspaceId: 'home', trace: { id, recipient: home, now: 1000, hostname: 'mx.test' } }])
  t.same(known, [form.content])
  const bytes = written.flatMap(({ parameters }) => parameters).find((value) => value instanceof MessageBytes)
  t.same(bytes, MessageBytes.moved(form.pieces))
})

t.test('no form is asked for of a large message, a report, or one for two workspaces', async (t) => {
  const asked: unknown[] = []
  const authenticate: AcceptorDeps['authenticator']['authenticate'] = async (_bytes, _header, _connection, only) => {
    asked.push(only)
    return { authentication: found, authenticationJson: toJson(found), form: null }
  }
  const large = Buffer.concat([text, Buffer.alloc(65_536, 'a\r\n')])
  await recordAcceptance(async () => mailbox('home'), large, { authenticate }).take(home)
  const report: InboundRecipient = { kind: 'system', name: 'fbl', detail: '' }
  await recordAcceptance(async () => report, text, { authenticate }).take(home)
  await recordAcceptance(async (address) => mailbox(address === home ? 'home' : 'other'), text, { authenticate }).take(
    home,
    other,
  )
  t.same(asked, [null, null, null])
})

t.test('a message whose check took long is stored with the time and the recipients of its end', async (t) => {
  for (const [taken, isKept] of [
    [1_000, true],
    [1_001, false],
    [-1, false],
  ] as const) {
    let now = 5_000
    const known: unknown[] = []
    const { take, written } = recordAcceptance(async () => mailbox('home'), text, {
      clock: () => now,
      authenticate: async () => {
        now += taken
        return { authentication: found, authenticationJson: toJson(found), form }
      },
      processEarly: async (_message, _copy, content) => {
        known.push(content)
        return null
      },
    })
    await take(home)
    t.same(known, [isKept ? form.content : null], `${taken} ms`)
    const bytes = written.flatMap(({ parameters }) => parameters).find((value) => value instanceof MessageBytes)
    const stored = Buffer.concat((bytes as MessageBytes).pieces).toString()
    t.equal(stored.startsWith('Received: here'), isKept)
    t.ok(written[0]?.parameters.includes(isKept ? 5_000 : 5_000 + taken))
  }
})
