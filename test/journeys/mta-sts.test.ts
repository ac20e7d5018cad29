/**
 * MTA-STS through the whole daemon: Knot has the records, an HTTPS server the policies, and each domain has an MX host of its
 * own with the certificate of its case.
 */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { EmailDetails } from '../../src/records/messages/email-details.js'
import { createSelfSigned } from '../helpers/certificates.js'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { freePort } from '../helpers/free-port.js'
import { type Knot, startKnot } from '../helpers/programs/knot.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink, type ScriptedSink, type SinkOptions } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout('knotd')

interface Answer {
  readonly status?: number
  readonly type?: string
  readonly location?: string
  readonly body: string
}

interface PolicyHost {
  readonly port: number
  readonly answers: Map<string, Answer>
  /** Names of the hosts that were asked, in order. */
  readonly asked: string[]
}

async function openPolicyHost(t: Test, certificate: { cert: string; key: string }): Promise<PolicyHost> {
  const answers = new Map<string, Answer>()
  const asked: string[] = []
  const server = createServer(certificate, (request, response) => {
    const name = (request.headers.host ?? '').split(':')[0] ?? ''
    asked.push(name)
    const {
      status = 200,
      type = 'text/plain; charset=utf-8',
      location,
      body,
    } = answers.get(name) ?? {
      status: 404,
      body: 'nothing',
    }
    response.writeHead(request.url === '/.well-known/mta-sts.txt' ? status : 404, {
      'content-type': type,
      ...(location === undefined ? {} : { location }),
    })
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return { port: (server.address() as AddressInfo).port, answers, asked }
}

function policy(mode: string, mx: string, age = 604_800): Answer {
  return { body: ['version: STSv1', `mode: ${mode}`, `mx: ${mx}`, `max_age: ${age}`, ''].join('\r\n') }
}

interface World {
  readonly app: TestDaemon
  readonly options: TestDaemonOptions
  readonly knot: Knot
  readonly records: readonly string[]
  readonly web: PolicyHost
  readonly sinks: ReadonlyMap<string, ScriptedSink>
}

/** The certificate of the policies' server is for the host names of all of them but `wrongweb`. */
const names = [
  'good',
  'misnamed',
  'late',
  'stranger',
  'plain',
  'unlisted',
  'testing',
  'missing',
  'page',
  'moved',
  'inside',
]

async function world(t: Test): Promise<World> {
  const authority = await createSelfSigned(['Authority'])
  const issue = (name: string, expired = false): ReturnType<typeof createSelfSigned> =>
    createSelfSigned([name], { issuer: authority, expired })
  const webNames = names.map((name) => `mta-sts.${name}.test`)
  const web = await openPolicyHost(t, await createSelfSigned(webNames, { issuer: authority }))
  const certificates: Record<string, SinkOptions> = {
    good: { certificate: await issue('mx.good.test') },
    misnamed: { certificate: await issue('mx.other.test') },
    late: { certificate: await issue('mx.late.test', true) },
    stranger: { certificate: await createSelfSigned(['mx.stranger.test']) },
    unlisted: { certificate: await issue('mx.unlisted.test') },
    testing: { certificate: await createSelfSigned(['mx.other.test']) },
  }
  const port = await freePort()
  const sinks = new Map<string, ScriptedSink>()
  const records: string[] = []
  for (const [at, name] of [...names, 'wrongweb'].entries()) {
    const address = `127.0.52.${at + 1}`
    const sink = await openSink({ ...certificates[name], port, address })
    t.teardown(() => sink.close())
    sinks.set(name, sink)
    records.push(`${name}.test. MX 10 mx.${name}.test.`, `mx.${name}.test. A ${address}`)
    records.push(`_mta-sts.${name}.test. TXT "v=STSv1; id=1;"`)
    records.push(`mta-sts.${name}.test. A ${name === 'inside' ? '10.0.0.1' : '127.0.0.1'}`)
    web.answers.set(`mta-sts.${name}.test`, policy('enforce', `*.${name}.test`))
  }
  web.answers.set('mta-sts.unlisted.test', policy('enforce', 'mx.elsewhere.test'))
  web.answers.set('mta-sts.testing.test', policy('testing', 'mx.testing.test'))
  web.answers.delete('mta-sts.missing.test')
  web.answers.set('mta-sts.page.test', { ...policy('enforce', 'mx.elsewhere.test'), type: 'text/html' })
  web.answers.set('mta-sts.moved.test', {
    status: 302,
    location: `https://mta-sts.good.test:${web.port}/.well-known/mta-sts.txt`,
    body: '',
  })
  const knot = await startKnot(t, records)
  const options: TestDaemonOptions = {
    zone: 'dns.servers',
    authorities: authority.cert,
    policyPort: web.port,
    settings: { dns: { servers: [knot.address] }, outbound: { port } },
  }
  return { app: await testDaemon(t, options), options, knot, records, web, sinks }
}

interface Outcome {
  readonly status: string
  readonly response: string
  readonly tls: string | null
}

function outcomeOf({ recipients: [recipient] }: EmailDetails): Outcome {
  const attempt = recipient?.attempts.at(-1)
  return { status: recipient?.status ?? '', response: attempt?.response ?? '', tls: attempt?.tls ?? null }
}

async function send(app: TestDaemon, domain: string): Promise<Outcome> {
  return outcomeOf(await app.waitUntilAttempted(await app.submitAccepted({ to: [`bob@${domain}`] })))
}

t.test('a policy that is enforced decides over hosts, encryption and certificates', { skip }, async (t) => {
  const { app, sinks, web } = await world(t)
  t.match(await send(app, 'good.test'), { status: 'delivered', tls: /^TLSv1\.\d, verified by MTA-STS$/ })
  const refused = [
    ['misnamed', /the certificate is not valid \(ERR_TLS_CERT_ALTNAME_INVALID\) \(MTA-STS\)/],
    ['late', /the certificate is not valid \(CERT_HAS_EXPIRED\)/],
    ['stranger', /the certificate is not valid \(\w+\) \(MTA-STS\)/],
    ['plain', /STARTTLS, which MTA-STS demands, is not offered/],
    ['unlisted', /no mail host of unlisted\.test may be called: mx\.unlisted\.test: the MTA-STS policy does not list/],
  ] as const
  for (const [name, response] of refused) {
    t.match(await send(app, `${name}.test`), { status: 'queued', response }, name)
    t.equal(sinks.get(name)?.messages.length, 0, `${name} got nothing`)
  }
  t.match(await send(app, 'testing.test'), { status: 'delivered', tls: /^TLSv1\.\d$/ }, 'a policy in testing')
  for (const name of ['missing', 'page', 'moved', 'inside', 'wrongweb']) {
    t.match(await send(app, `${name}.test`), { status: 'delivered', tls: null }, `${name}: no policy could be had`)
  }
  t.notOk(web.asked.includes('mta-sts.inside.test'), 'private addresses are not dialled')
  t.same((await app.rows('select domain from sts_policies order by domain')).length, 7)
  t.same(app.errors, [])
})

t.test('a policy holds while its host is down, across a restart, until its id changes', { skip }, async (t) => {
  const { app, options, knot, records, web } = await world(t)
  t.match(await send(app, 'good.test'), { status: 'delivered', tls: /verified by MTA-STS/ })
  await app.stop()
  web.answers.clear()
  const silent = records.filter((line) => !line.startsWith('_mta-sts.good.test.'))
  await knot.publish(silent)
  const again = await testDaemon(t, { ...options, folder: app.folder })
  const submitted = await again.submitAccepted({ to: ['bob@good.test'], key: app.key })
  t.match(outcomeOf(await again.waitUntilAttempted(submitted)), { status: 'delivered', tls: /verified by MTA-STS/ })

  web.answers.set('mta-sts.good.test', { body: 'version: STSv1\nmode: none\nmax_age: 86400\n' })
  await knot.publish([...silent, '_mta-sts.good.test. TXT "v=STSv1; id=2;"'])
  again.advance(3_600_000)
  await waitUntil('the new policy is in force', async () => {
    again.advance(61_000)
    const id = await again.submitAccepted({ to: ['bob@good.test'], key: app.key })
    return outcomeOf(await again.waitUntilAttempted(id)).tls?.includes('verified') === false
  })
  t.same(await again.rows("select policy_id, mode from sts_policies where domain = 'good.test'"), [
    { policy_id: '2', mode: 'none' },
  ])
})
