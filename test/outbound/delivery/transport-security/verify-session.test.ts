import t, { type Test } from 'tap'
import type { Host } from '../../../../src/outbound/delivery/hosts/destination.js'
import { noPolicy, noSecurity, type TlsRule } from '../../../../src/outbound/delivery/hosts/host-security.js'
import type { TlsSessionResult } from '../../../../src/outbound/delivery/hosts/tls-result.js'
import { SessionOpener } from '../../../../src/outbound/delivery/sessions/session-opener.js'
import { SessionPool } from '../../../../src/outbound/delivery/sessions/session-pool.js'
import { UnreachableHosts } from '../../../../src/outbound/delivery/shaping/unreachable-hosts.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { createFreePace } from '../../../helpers/free-pace.js'
import { openSink, type ScriptedSink, type SinkOptions } from '../../../helpers/smtp/scripted-sink.js'
import { clientDeps, hostAt, manyConnections, never, outbound } from '../../../helpers/smtp/sink-client.js'

interface Bench {
  readonly sink: ScriptedSink
  readonly results: TlsSessionResult[]
  readonly send: (rule: TlsRule | null) => Promise<unknown>
}

async function bench(t: Test, options: SinkOptions, authority?: string): Promise<Bench> {
  const sink = await openSink(options)
  const results: TlsSessionResult[] = []
  const onTlsResult = (result: TlsSessionResult): void => void results.push(result)
  const opener = new SessionOpener({
    ...clientDeps({}, authority),
    unreachableHosts: new UnreachableHosts(),
    onTlsResult,
  })
  const pace = createFreePace()
  const pool = new SessionPool(opener, () => manyConnections, { of: () => pace })
  t.teardown(async () => {
    await pool.close()
    await sink.close()
  })
  const hostWith = (rule: TlsRule | null): Host =>
    hostAt(sink, rule === null ? {} : { security: { ...noSecurity, rule, applied: noPolicy } })
  return { sink, results, send: (rule) => pool.send(hostWith(rule), outbound('a\r\n'), never) }
}

const accepted = { sent: { kind: 'accepted' } }
const untrusted = { sent: { kind: 'failed', failure: 'untrusted' } }
const demands: readonly TlsRule[] = [
  { kind: 'sts-enforce' },
  { kind: 'verified' },
  { kind: 'dane', base: 'mx.test', names: ['mx.test'], records: [] },
]

t.test('a server without STARTTLS gets nothing that demands TLS', async (t) => {
  const { sink, send, results } = await bench(t, {})
  for (const rule of demands) t.match(await send(rule), untrusted, rule.kind)
  t.equal(sink.messages.length, 0)
  t.match(await send({ kind: 'sts-testing', isListed: true }), accepted)
  t.match(await send({ kind: 'none' }), accepted)
  t.same(
    results.map(({ failure }) => failure?.type),
    Array.from({ length: 5 }, () => 'starttls-not-supported'),
  )
})

t.test('broken TLS falls back to plain text only where nothing demands TLS', async (t) => {
  const { sink, send, results } = await bench(t, { broken: 'garbage' })
  t.match(await send({ kind: 'none' }), { ...accepted, tls: null })
  for (const rule of demands) t.match(await send(rule), { sent: { kind: 'failed', failure: 'tls' } }, rule.kind)
  t.equal(sink.messages.length, 1)
  t.equal(results.filter(({ failure }) => failure?.type === 'validation-failure').length, 4)
})

t.test('a kept session is used only for what it was verified for', async (t) => {
  const certificate = await createSelfSigned(['mx.test'])
  const { sink, send, results } = await bench(t, { certificate }, certificate.cert)
  const rules: readonly (TlsRule | null)[] = [null, { kind: 'sts-testing', isListed: true }, ...demands]
  for (const rule of rules) {
    t.match(await send(rule), accepted)
    t.match(await send(rule), accepted)
  }
  t.equal(sink.connections, rules.length, 'one session for each')
  t.same(
    results.map(({ failure }) => failure),
    [null, null, null, null],
    'sessions of routes are not reported, nor is a message of a kept one',
  )
})

t.test('a certificate that is not valid is refused or reported', async (t) => {
  const certificates = {
    'certificate-host-mismatch': await createSelfSigned(['other.test']),
    'certificate-expired': await createSelfSigned(['mx.test'], { expired: true }),
  }
  for (const [type, certificate] of Object.entries(certificates)) {
    const { sink, send, results } = await bench(t, { certificate }, certificate.cert)
    t.match(await send({ kind: 'sts-enforce' }), untrusted)
    t.match(await send({ kind: 'verified' }), untrusted)
    t.match(await send({ kind: 'sts-testing', isListed: true }), { ...accepted, tls: /^TLSv1\.\d$/ })
    t.same(
      results.map(({ failure }) => failure?.type),
      [type, type, type],
    )
    t.equal(sink.messages.length, 1)
  }
  const stranger = await bench(t, { certificate: await createSelfSigned(['mx.test']) })
  t.match(await stranger.send({ kind: 'sts-enforce' }), untrusted)
  t.match(stranger.results, [{ failure: { type: 'certificate-not-trusted' }, receivingHost: 'mx.test' }])
  t.match(stranger.results[0], { receivingAddress: '127.0.0.1', sendingAddress: '127.0.0.1', domain: 'rcpt.test' })
})

t.test('a host that its policy rules out gets nothing, should it be called', async (t) => {
  const certificate = await createSelfSigned(['mx.test'])
  const { sink, send } = await bench(t, { certificate }, certificate.cert)
  t.match(await send({ kind: 'refused', reason: 'dns', text: 'no DNS', failure: 'dnssec-invalid' }), untrusted)
  t.equal(sink.messages.length, 0)
})

t.test('a host that the policy does not list is reported where it is only tested', async (t) => {
  const certificate = await createSelfSigned(['mx.test'])
  const { send, results } = await bench(t, { certificate }, certificate.cert)
  t.match(await send({ kind: 'sts-testing', isListed: false }), { ...accepted, tls: /^TLSv1\.\d$/ })
  t.match(results, [{ failure: { type: 'validation-failure', detail: /does not list/ } }])
})
