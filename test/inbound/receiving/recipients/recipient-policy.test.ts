/** For which recipients mail is accepted: a table of every kind of address. */
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { type DomainName, parseAddress, tryParseAddress } from '../../../../src/base/mail/address.js'
import { createForwardedSender } from '../../../../src/base/mail/forwarded-sender.js'
import { createReturnPath } from '../../../../src/base/mail/recipient-token.js'
import {
  type InboundRecipient,
  RecipientPolicy,
} from '../../../../src/inbound/receiving/recipients/recipient-policy.js'
import type { ReceivingDomain } from '../../../../src/workspaces/domains/receiving-domain-cache.js'
import { defaultInboundPolicy } from '../../../../src/workspaces/domains/rows/inbound-policy.js'

const secret = createSecretKey(Buffer.alloc(32, 7))
const blocked = new Set(['sold', 'a+b', 'büro', '"two words"'])
const domains: Readonly<Record<string, ReceivingDomain>> = {
  'in.test': { workspaceId: 'ws_1', inbound: true, blocked, policy: defaultInboundPolicy },
  'out.test': { workspaceId: 'ws_2', inbound: false, blocked, policy: defaultInboundPolicy },
  'taken.test': { workspaceId: 'ws_2', inbound: false, blocked: new Set(), policy: defaultInboundPolicy },
  'posthorn.taken.test': { workspaceId: 'ws_3', inbound: true, blocked: new Set(), policy: defaultInboundPolicy },
}
const now = Date.UTC(2026, 6, 1)
const policy = new RecipientPolicy({
  hostname: 'mx.service.test' as DomainName,
  zone: 'zone.test' as DomainName,
  secret,
  clock: () => now,
  domains: { find: async (domain) => (Object.hasOwn(domains, domain) ? domains[domain] : undefined) },
})

const id = '0190a000-0000-7000-8000-000000000001'
const valid = (host: string): string => createReturnPath(secret, id, host as DomainName)
const forwarded = (host: string): string =>
  createForwardedSender(secret, parseAddress('bob@b.test'), host as DomainName, now) ?? ''
const mailbox = { kind: 'mailbox', workspaceId: 'ws_1', domain: 'in.test' }
const unknown = { kind: 'refused', why: 'unknown' }
const refused = { kind: 'refused', why: 'blocked' }
const relay = { kind: 'refused', why: 'relay' }
const system = (name: string, detail = ''): unknown => ({ kind: 'system', name, detail })
const bounce = (recipientId: string | null): unknown => ({ kind: 'return-path', recipientId })

const cases: readonly (readonly [address: string, expected: unknown])[] = [
  ['info@in.test', mailbox],
  ['Any.Thing+sub@IN.test', mailbox],
  ['postmaster@in.test', mailbox],
  ['"quoted local"@in.test', mailbox],
  ['sold@in.test', refused],
  ['SOLD@In.Test', refused],
  ['"sold"@in.test', refused],
  ['"s\\old"@in.test', refused],
  ['sold+more@in.test', mailbox],
  ['a+b@in.test', refused],
  ['a@in.test', mailbox],
  ['BÜRO@in.test', refused],
  ['bu\u0308ro@in.test', refused],
  ['"Two\\ words"@in.test', refused],
  ['twowords@in.test', mailbox],
  ['sold@out.test', unknown],
  ['sold@mail.zone.test', unknown],
  ['info@out.test', unknown],
  ['postmaster@out.test', unknown],
  ['info@sub.in.test', relay],
  ['info@elsewhere.test', relay],
  [`info@${`${'x'.repeat(60)}.`.repeat(4)}test`, relay],
  [forwarded('posthorn.out.test'), { kind: 'forwarded-sender', sender: 'bob@b.test' }],
  [forwarded('mail.zone.test').toLowerCase(), { kind: 'forwarded-sender', sender: 'bob@b.test' }],
  [forwarded('posthorn.out.test').replace('bob', 'eve'), relay],
  [forwarded('posthorn.elsewhere.test'), relay],
  [forwarded('in.test'), mailbox],
  ['bounce+x@posthorn', relay],
  ['postmaster@elsewhere.test', relay],
  [valid('posthorn.out.test'), bounce(id)],
  [valid('posthorn.out.test').toUpperCase(), bounce(id)],
  [valid('posthorn.in.test'), bounce(id)],
  [valid('mail.zone.test'), bounce(id)],
  [valid('posthorn.out.test').replace(/@/, 'x@'), bounce(null)],
  ['bounce+forged@posthorn.out.test', bounce(null)],
  [valid('posthorn.taken.test'), bounce(id)],
  ['bounce+forged@posthorn.taken.test', { kind: 'mailbox', workspaceId: 'ws_3', domain: 'posthorn.taken.test' }],
  [valid('posthorn.elsewhere.test'), relay],
  [valid('mx.service.test'), unknown],
  ['info@posthorn.out.test', unknown],
  ['info@mail.zone.test', unknown],
  ['Postmaster@mx.service.test', system('postmaster')],
  ['abuse@zone.test', system('abuse')],
  ['fbl@mx.service.test', system('fbl')],
  ['dmarc@zone.test', system('dmarc')],
  ['tlsrpt@mail.zone.test', system('tlsrpt')],
  ['postmaster@posthorn.out.test', system('postmaster')],
  ['unsubscribe+AbC.1@mx.service.test', system('unsubscribe', 'AbC.1')],
  ['unsubscribe@mx.service.test', unknown],
  ['root@mx.service.test', unknown],
  ['constructor@zone.test', unknown],
]

for (const [address, expected] of cases) {
  t.test(`RCPT TO:<${address}>`, async (t) => {
    t.same(await policy.classify(parseAddress(address)), expected)
  })
}

t.test('no recipient outside our own domains is ever accepted', async (t) => {
  const ours = /(^|\.)(in\.test|out\.test|service\.test|zone\.test)$/
  const label = fc.constantFrom('in', 'out', 'test', 'mail', 'zone', 'posthorn', 'mx', 'service', 'evil')
  const local = fc.constantFrom('postmaster', 'abuse', 'bounce+x', 'info', 'unsubscribe+x')
  const property = fc.asyncProperty(local, fc.array(label, { minLength: 1, maxLength: 4 }), async (name, labels) => {
    const address = tryParseAddress(`${name}@${labels.join('.')}`)
    if (address === null) return
    const found: InboundRecipient = await policy.classify(address)
    if (!ours.test(labels.join('.'))) t.same(found, relay, address)
  })
  await fc.assert(property)
})
