/**
 * DANE through the whole daemon: Knot signs the zones, Unbound validates them, and each domain has an MX host of its own with
 * the certificate and the TLSA records of its case.
 */
import { createHash, X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import type { EmailDetails } from '../../src/records/messages/email-details.js'
import { type Certificate, createSelfSigned } from '../helpers/certificates.js'
import { authPlain, submitMessage, type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { freePort } from '../helpers/free-port.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { startValidatingDns } from '../helpers/programs/validating-dns.js'
import { openSink, type ScriptedSink, type SinkOptions } from '../helpers/smtp/scripted-sink.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout('knotd') || skipWithout('unbound')

const extensions = ['PIPELINING', '8BITMIME', 'SIZE 1000000']

/** `3 1 1` or another form, of the first or last certificate in `cert`. */
function tlsa(form: string, { cert }: Certificate, which: 'server' | 'issuer' = 'server'): string {
  const [first = '', ...others] = cert.split(/(?=-----BEGIN)/).filter((part) => part.includes('BEGIN'))
  const { publicKey } = new X509Certificate(which === 'server' ? first : (others.at(-1) ?? first))
  const key = publicKey.export({ type: 'spki', format: 'der' })
  return `${form} ${createHash('sha256').update(key).digest('hex')}`
}

class Hosts {
  readonly sinks = new Map<string, ScriptedSink>()
  private readonly addresses = new Map<string, string>()

  constructor(readonly port: number) {}

  /** A server at an address of its own. */
  async open(t: Test, mx: string, options: SinkOptions = {}): Promise<void> {
    const address = `127.0.51.${this.sinks.size + 1}`
    const sink = await openSink({ ...options, port: this.port, address })
    t.teardown(() => sink.close())
    this.sinks.set(mx, sink)
    this.addresses.set(mx, address)
  }

  listRecords(zone: string): readonly string[] {
    const own = [...this.addresses].filter(([mx]) => mx.endsWith(`.${zone}`))
    return own.map(([mx, address]) => `${mx}. A ${address}`)
  }

  countMessages(mx: string): number {
    return this.sinks.get(mx)?.messages.length ?? 0
  }
}

interface World {
  readonly app: TestDaemon
  readonly hosts: Hosts
}

const wrong = `3 1 1 ${'0'.repeat(64)}`

async function world(t: Test): Promise<World> {
  const hosts = new Hosts(await freePort())
  const own = await createSelfSigned(['unrelated.test'], { expired: true })
  const authority = await createSelfSigned(['Authority'])
  const issued = await createSelfSigned(['mx.issued.safe.test'], { issuer: authority })
  const misnamed = await createSelfSigned(['mx.elsewhere.test'], { issuer: authority })
  const late = await createSelfSigned(['mx.late.safe.test'], { issuer: authority, expired: true })
  const tls = { certificate: own }
  await hosts.open(t, 'mx.right.safe.test', tls)
  await hosts.open(t, 'mx.wrong.safe.test', tls)
  await hosts.open(t, 'mx.plaintext.safe.test')
  await hosts.open(t, 'mx.unusable.safe.test', tls)
  await hosts.open(t, 'mx.none.safe.test')
  await hosts.open(t, 'mx.failing.safe.test', tls)
  await hosts.open(t, 'mx.issued.safe.test', { certificate: issued })
  await hosts.open(t, 'mx.misnamed.safe.test', { certificate: misnamed })
  await hosts.open(t, 'mx.late.safe.test', { certificate: late })
  await hosts.open(t, 'mx.strict.safe.test', { ...tls, extensions: [...extensions, 'REQUIRETLS'] })
  await hosts.open(t, 'mx.outside.open.test', tls)
  const at = (mx: string, record: string): string => `_${hosts.port}._tcp.${mx}.safe.test. TLSA ${record}`
  const toMx = (domain: string): string => `${domain}. MX 10 mx.${domain}.`
  const cases = ['right', 'wrong', 'plaintext', 'unusable', 'none', 'failing', 'issued', 'misnamed', 'late', 'strict']
  const safe = [
    ...hosts.listRecords('safe.test'),
    ...cases.map((name) => toMx(`${name}.safe.test`)),
    at('mx.right', tlsa('3 1 1', own)),
    at('mx.wrong', wrong),
    at('mx.plaintext', tlsa('3 1 1', own)),
    at('mx.unusable', `1 1 1 ${'0'.repeat(64)}`),
    `_${hosts.port}._tcp.mx.failing.safe.test. CNAME tlsa.bogus.test.`,
    ...['issued', 'misnamed', 'late'].map((name) => at(`mx.${name}`, tlsa('2 1 1', issued, 'issuer'))),
    at('mx.strict', tlsa('3 1 1', own)),
    'two.safe.test. MX 5 mx.wrong.safe.test.',
    'two.safe.test. MX 10 mx.right.safe.test.',
    'alias.safe.test. MX 10 name.safe.test.',
    'name.safe.test. CNAME mx.right.safe.test.',
    'away.safe.test. MX 10 gone.safe.test.',
    'gone.safe.test. CNAME mx.outside.open.test.',
    at('gone', wrong),
  ]
  const dns = await startValidatingDns(t, {
    signed: { 'safe.test': safe },
    unsigned: {
      'open.test': [
        ...hosts.listRecords('open.test'),
        'outside.open.test. MX 10 mx.outside.open.test.',
        `_${hosts.port}._tcp.mx.outside.open.test. TLSA ${wrong}`,
        'unsafe.open.test. MX 10 mx.wrong.safe.test.',
      ],
    },
    bogus: { 'bogus.test': ['bogus.test. MX 10 mx.right.safe.test.', `tlsa.bogus.test. TLSA ${wrong}`] },
  })
  const app = await testDaemon(t, {
    zone: 'dns.servers',
    settings: { dns: { servers: [dns] }, outbound: { port: hosts.port, mta_sts: false } },
  })
  return { app, hosts }
}

interface Outcome {
  readonly status: string
  readonly response: string
  readonly reason: string | null
  readonly tls: string | null
}

function outcomeOf({ recipients: [recipient] }: EmailDetails): Outcome {
  const attempt = recipient?.attempts.at(-1)
  return {
    status: recipient?.status ?? '',
    response: attempt?.response ?? '',
    reason: attempt?.reason ?? null,
    tls: attempt?.tls ?? null,
  }
}

t.test('DANE decides over encryption, and nothing goes out in plain text against it', { skip }, async (t) => {
  const { app, hosts } = await world(t)
  const send = async (domain: string, fields: readonly string[] = []): Promise<Outcome> => {
    const id = await app.submitAccepted({ to: [`bob@${domain}`], fields })
    return outcomeOf(await app.waitUntilAttempted(id))
  }

  for (const domain of ['right.safe.test', 'issued.safe.test', 'alias.safe.test', 'two.safe.test']) {
    t.match(await send(domain), { status: 'delivered', tls: /^TLSv1\.\d, verified by DANE$/ }, domain)
  }

  const refused = [
    ['wrong.safe.test', /no TLSA record matches a certificate of the server \(DANE\)/],
    ['plaintext.safe.test', /STARTTLS, which DANE demands, is not offered/],
    ['misnamed.safe.test', /the certificate is not for mx\.misnamed\.safe\.test or misnamed\.safe\.test/],
    ['late.safe.test', /the certificate is not valid now/],
    ['away.safe.test', /no TLSA record matches/],
  ] as const
  for (const [domain, response] of refused) {
    t.match(await send(domain), { status: 'queued', reason: 'tls', response }, domain)
    t.equal(hosts.countMessages(`mx.${domain}`), 0, `${domain} got nothing`)
  }

  const unknown = [
    ['failing.safe.test', /no mail host of failing\.safe\.test may be called: mx\.failing\.safe\.test: .*SERVFAIL/],
    ['bogus.test', /SERVFAIL/],
  ] as const
  for (const [domain, response] of unknown) {
    t.match(await send(domain), { status: 'queued', reason: 'dns', response }, domain)
  }
  t.equal(hosts.countMessages('mx.failing.safe.test'), 0)

  t.match(await send('unusable.safe.test'), { status: 'delivered', tls: /^TLSv1\.\d$/ }, 'encrypted, unverified')
  t.match(await send('none.safe.test'), { status: 'delivered', tls: null }, 'no TLSA record')
  t.match(await send('outside.open.test'), { status: 'delivered', tls: /^TLSv1\.\d$/ }, 'records outside DNSSEC')
  t.match(await send('unsafe.open.test'), { status: 'delivered', tls: /^TLSv1\.\d$/ }, 'MX records outside DNSSEC')
  t.match(await send('wrong.safe.test', ['TLS-Required: No']), { status: 'delivered' }, 'the sender waives it')

  const explain = async (domain: string): Promise<string> => {
    const id = await app.submitAccepted({ to: [`bob@${domain}`] })
    await app.waitUntilAttempted(id)
    return (await app.cli('explain', id, '--transcript')).out
  }
  t.match(await explain('right.safe.test'), /\[127\.0\.51\.1\] over TLSv1\.\d, verified by DANE,/)
  const waiting = await explain('wrong.safe.test')
  t.match(waiting, /deferred \(tls\): .*no TLSA record matches/)
  t.match(waiting, /\* no TLSA record matches/, 'the transcript')
  t.same(app.errors, [])
})

t.test('a message that demands TLS goes only where it is verified and demanded again', { skip }, async (t) => {
  const { app, hosts } = await world(t)
  const endpoint = app.daemon.submission.find(({ tls }) => tls)
  const client = await dial(endpoint?.port ?? 0, { tls: true })
  t.teardown(() => client.end())
  await client.readReply()
  t.match(await client.sendCommand('EHLO app.test'), /^250.REQUIRETLS$/m)
  await client.sendCommand(authPlain(app.key))
  const send = async (domain: string, fields: readonly string[] = []): Promise<Outcome> => {
    const reply = await submitMessage(client, { to: [`bob@${domain}`], mailParameters: ' REQUIRETLS', fields })
    const id = reply.split(' as ')[1] ?? ''
    return outcomeOf(await app.waitUntilSettled(id))
  }

  t.match(await send('strict.safe.test'), { status: 'delivered', tls: /verified by DANE/ })
  t.match(hosts.sinks.get('mx.strict.safe.test')?.messages[0]?.mailFrom, / REQUIRETLS/)
  t.match(await send('right.safe.test', ['TLS-Required: No']), {
    status: 'bounced',
    response: /REQUIRETLS support required/,
  })
  t.match(await send('outside.open.test'), { status: 'bounced', response: /REQUIRETLS support required/ })
  const notices = await waitUntil('notices to the sender', async () => {
    const rows = await app.rows<{ raw: Buffer; tls_required: string }>(
      `select raw, tls_required from emails join raw_messages on email_id = id where source = 'service'`,
    )
    return rows.length === 2 && rows
  })
  for (const { raw, tls_required } of notices) {
    t.equal(tls_required, 'yes')
    t.match(raw.toString(), /^Status: 5\.7\.30\r$/m)
    t.notMatch(raw.toString(), /a line/, 'the header alone')
  }
  t.equal(hosts.countMessages('mx.right.safe.test') + hosts.countMessages('mx.outside.open.test'), 0)
})
