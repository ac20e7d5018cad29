/** A message is accepted for all of its recipients, or for none. */
import t from 'tap'
import { defaultInboundPolicy } from '../../src/domains/inbound-policy.js'
import { type Address, parseAddress, parseDomainName } from '../../src/mail/address.js'
import type { Authentication } from '../../src/mail/authentication-results.js'
import { scanHeader } from '../../src/mail/header-fields.js'
import { type AcceptInboundDeps, createAcceptInbound } from '../../src/receiving/accept-inbound.js'
import type { InboundRecipient } from '../../src/receiving/recipient-policy.js'
import type { Write } from '../../src/storage/writer/write.js'

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

function recordAcceptance(
  recipientOf: AcceptInboundDeps['recipientOf'],
  raw: Buffer = text,
): {
  readonly take: (...recipients: [Address, ...Address[]]) => Promise<{ readonly id: string }>
  readonly written: Write[]
  readonly filed: string[]
  readonly logged: unknown[]
} {
  const written: Write[] = []
  const filed: string[] = []
  const logged: unknown[] = []
  const accept = createAcceptInbound({
    commit: async (writes) => {
      written.push(...writes)
    },
    clock: () => 1000,
    log: { info: (line: unknown) => logged.push(line) },
    hostname: 'mx.test',
    dmarc: 'reject',
    authenticate: async (raw) => ({ raw, authentication: found }),
    recipientOf,
    operatorWorkspace: () => 'home',
    inboundBytes: () => ({ held: 0, limit: null }),
    policyOf: () => defaultInboundPolicy,
    isSpamForAll: async () => false,
    onStored: (workspaceId) => filed.push(workspaceId),
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
    raw,
    header: scanHeader(raw),
    client,
    tls: null,
    protocol: 'ESMTP',
    smtputf8: false,
  } as const
  return { take: (...recipients) => accept({ ...same, recipients }), written, filed, logged }
}

t.test('each of two workspaces gets a record, a return path without a token gets none', async (t) => {
  const { take, written, filed, logged } = recordAcceptance((address) => {
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
    const { take, written } = recordAcceptance((address) =>
      address === home ? mailbox('home') : { kind: 'refused', why },
    )
    await t.rejects(take(other), { message: /just been removed/ })
    await t.rejects(take(home, other), { message: /just been removed/ })
    t.same(written, [])
  }
})

t.test('the header of a message is not scanned again, however many copies are made of it', async (t) => {
  const raw = Buffer.from(text)
  const { take, written } = recordAcceptance((address) => mailbox(address === home ? 'home' : 'other'), raw)
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
