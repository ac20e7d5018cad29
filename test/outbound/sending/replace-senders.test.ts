/** Senders that a key may not use are replaced by its `sender`; those that it may use stay. */
import t from 'tap'
import { type Address, type DomainName, parseAddress } from '../../../src/base/mail/address.js'
import { replaceSenders } from '../../../src/outbound/sending/replace-senders.js'
import type { SubmittedMessage } from '../../../src/outbound/sending/submitted-message.js'
import { createKeylessPrincipal, type Principal } from '../../../src/workspaces/accounts/access/principal.js'
import type { SendingDomain } from '../../../src/workspaces/domains/rows/sending-domains.js'

const sender = parseAddress('host1@example.test')
const domains = {
  findVerified: async (_workspace: string, domain: DomainName) =>
    domain === 'example.test' || domain === 'shop.test' ? ({ domain } as SendingDomain) : undefined,
  listVerified: async () => [] as DomainName[],
}
const host: Principal = createKeylessPrincipal('ws_1', sender)

interface Sent {
  readonly envelopeFrom: string
  readonly lines: readonly string[]
}

async function send(envelopeFrom: string, head: readonly string[], principal = host): Promise<Sent> {
  const message: SubmittedMessage = {
    envelopeFrom: envelopeFrom as Address,
    ...{ envid: null, ret: null, recipients: [], smtputf8: false, protocol: 'ESMTPSA' },
    raw: Buffer.from([...head, '', 'body', ''].join('\r\n')),
  }
  const sent = await replaceSenders(principal, message, domains)
  const [header = '', body] = sent.raw.toString('latin1').split('\r\n\r\n')
  t.equal(body, 'body\r\n')
  return { envelopeFrom: sent.envelopeFrom, lines: header.split('\r\n') }
}

const cases: readonly (readonly [what: string, from: readonly string[], becomes: readonly string[]])[] = [
  ['an address', ['From: root@host.lan'], ['From: host1@example.test', 'Reply-To: root@host.lan']],
  [
    'an address with a name',
    ['From: "Cron, Daemon" <root@host.lan>'],
    ['From: "Cron, Daemon" <host1@example.test>', 'Reply-To: "Cron, Daemon" <root@host.lan>'],
  ],
  [
    'an address with a comment',
    ['From: root@host.lan (Cron Daemon)'],
    ['From: Cron Daemon <host1@example.test>', 'Reply-To: Cron Daemon <root@host.lan>'],
  ],
  ['no address, as cron writes it', ['From: root (Cron Daemon)'], ['From: Cron Daemon <host1@example.test>']],
  ['a user', ['From: root'], ['From: root <host1@example.test>']],
  ['a name without an address', ['From: =?utf-8?Q?J=C3=B6rg?='], ['From: =?UTF-8?Q?J=C3=B6rg?= <host1@example.test>']],
  ['nothing', [], ['From: host1@example.test']],
  ['an empty field', ['From: '], ['From: host1@example.test']],
  ['two fields', ['From: a@shop.test', 'From: b@shop.test'], ['From: host1@example.test']],
  ['an address that never ends', ['From: <root@host.lan'], ['From: host1@example.test']],
  [
    'several authors, one of whom may be used',
    ['From: a@shop.test, b@host.lan'],
    ['From: host1@example.test', 'Reply-To: a@shop.test, b@host.lan'],
  ],
  [
    'an author who wants replies elsewhere',
    ['From: root@host.lan', 'Reply-To: admin@host.lan'],
    ['Reply-To: admin@host.lan', 'From: host1@example.test'],
  ],
]

for (const [what, from, becomes] of cases) {
  t.test(`From: ${what}`, async (t) => {
    t.same(await send('root@host.lan', ['Subject: s', ...from]), {
      envelopeFrom: sender,
      lines: ['Subject: s', ...becomes],
    })
  })
}

t.test('what may be used stays', async (t) => {
  const lines = ['From: Shop <shop@shop.test>', 'Subject: s']
  t.same(await send('bounces@shop.test', lines), { envelopeFrom: 'bounces@shop.test', lines })
  t.same(await send('root@host.lan', lines), { envelopeFrom: sender, lines })
})

t.test('the null envelope sender stays, and the author of the bounce is replaced', async (t) => {
  t.same(await send('', ['From: Mail System <MAILER-DAEMON@host.lan>']), {
    envelopeFrom: '',
    lines: ['From: Mail System <host1@example.test>', 'Reply-To: Mail System <MAILER-DAEMON@host.lan>'],
  })
})

t.test('without a sender nothing is replaced', async (t) => {
  const lines = ['From: root@host.lan']
  t.same(await send('root@host.lan', lines, createKeylessPrincipal('ws_1')), { envelopeFrom: 'root@host.lan', lines })
})

t.test('a sender that may no longer be used is refused', async (t) => {
  const lost = { ...host, sender: parseAddress('host1@lost.test') }
  await t.rejects(send('root@host.lan', ['From: root@host.lan'], lost), {
    name: 'Refusal',
    kind: 'sender-not-verified',
  })
  const narrow = { ...host, allowedDomains: ['shop.test'] }
  await t.rejects(send('root@host.lan', ['From: root@host.lan'], narrow), { name: 'Refusal', kind: 'forbidden' })
  const lines = ['From: shop@shop.test']
  t.same(await send('a@shop.test', lines, narrow), { envelopeFrom: 'a@shop.test', lines }, 'others may be')
})
