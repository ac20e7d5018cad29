/**
 * A customer's domain from registration to verification over real DNS: Knot is the root and the customer's server,
 * Unbound the resolver, and our zone is found through its delegation. Then mail, and again after a rotation of the
 * keys, for which the customer does nothing: DKIM, SPF and DMARC pass at another daemon, and DKIM at python3-dkim
 * too.
 *
 * Delegations know port 53 alone, so each server has its own loopback address, derived from the process id.
 */
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { type Knot, startKnot } from '../helpers/programs/knot.js'
import { python, runProgram, skipWithoutModule } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { startUnbound, type Unbound } from '../helpers/programs/unbound.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip =
  skipWithout('knotd') ||
  skipWithout('unbound') ||
  skipWithout('dig') ||
  skipWithoutModule([python, '-c', 'import dkim, dns.resolver'], 'python3-dkim with python3-dnspython') ||
  (process.getuid?.() === 0 ? false : 'port 53 is for root')

const network = `127.${1 + (process.pid % 250)}.${(process.pid >> 8) % 256}`
const at = { knot: `${network}.1`, service: `${network}.2`, home: `${network}.3` }

const world = [
  'mail.service.test. NS ns1.mail.service.test.',
  `ns1.mail.service.test. A ${at.service}`,
  'home.test. MX 10 mx.home.test.',
  `mx.home.test. A ${at.home}`,
]

interface World {
  readonly knot: Knot
  readonly unbound: Unbound
  readonly home: TestDaemon
  readonly service: TestDaemon
}

async function openWorld(t: Test): Promise<World> {
  const knot = await startKnot(t, world, [], { host: at.knot, port: 53 })
  const unbound = await startUnbound(t, { root: at.knot })
  const dns = { servers: [unbound.address] }
  const home = await testDaemon(t, {
    zone: 'dns.servers',
    settings: { service: { hostname: 'mx.home.test' }, inbound: { listen: [`${at.home}:0`] }, dns },
  })
  await home.cli('domain', 'add', 'home.test', '--force', '--inbound', '--workspace', home.workspaceId)
  const service = await testDaemon(t, {
    zone: 'dns.servers',
    settings: {
      service: { public_addresses: [at.service] },
      outbound: { port: home.daemon.mx[0]?.port, source_addresses: [at.service] },
      dns: { ...dns, zone_listen: [`${at.service}:53`], nameservers: ['ns1.mail.service.test'] },
    },
  })
  return { knot, unbound, home, service }
}

interface Shown {
  readonly id: string
  readonly status: string
  readonly dns_records: readonly { readonly type: string; readonly name: string; readonly value: string }[]
}

interface Received {
  readonly id: string
  readonly dkim_result: string
  readonly spf_result: string
  readonly dmarc_result: string
}

/** The inbound record at the receiving daemon, with its bytes. */
async function sendAndReceive(
  service: TestDaemon,
  home: TestDaemon,
  subject: string,
): Promise<Received & { raw: string }> {
  const body = { from: 'App <app@customer.test>', to: ['info@home.test'], subject, text: 'How do you do?' }
  const { status, json, text } = await service.rest('POST', '/v1/emails', { body })
  if (status !== 201) throw new Error(text)
  await service.waitUntilSettled(json<{ id: string }>().id)
  const { id } = await waitUntil(`${subject} is looked at`, async () => {
    const list = await home.rest('GET', '/v1/inbound?status=processed')
    return list.json<{ data: { id: string; subject: string }[] }>().data.find((email) => email.subject === subject)
  })
  const received = (await home.rest('GET', `/v1/inbound/${id}`)).json<Received>()
  return { ...received, raw: (await home.rest('GET', `/v1/inbound/${id}/raw`)).text }
}

t.test('a domain is verified, sends mail, rotates its keys, and sends mail again', { skip }, async (t) => {
  const { knot, unbound, home, service } = await openWorld(t)
  const passes = async (subject: string, selector: string): Promise<void> => {
    const received = await sendAndReceive(service, home, subject)
    t.match(received, { dkim_result: 'pass', spf_result: 'pass', dmarc_result: 'pass' }, subject)
    t.match(received.raw, new RegExp(`d=customer\\.test;\\s+s=${selector};`))
    const others = await runProgram([python, 'test/fixtures/dkim-verify-dns.py', `${unbound.port}`], received.raw)
    t.equal(others.stdout, 'True\n', others.stderr)
  }

  const made = await service.rest('POST', '/v1/domains', { body: { domain: 'customer.test' } })
  t.equal(made.status, 201)
  const { id, dns_records: dnsRecords } = made.json<Shown>()
  const verify = () => service.rest('POST', `/v1/domains/${id}/verify`)
  const before = await verify()
  t.equal(before.status, 400, before.text)

  const policy = '_dmarc.customer.test. TXT "v=DMARC1; p=reject"'
  await knot.publish([...world, policy, ...dnsRecords.map(({ name, type, value }) => `${name}. ${type} ${value}.`)])
  for (const { name, value } of dnsRecords) {
    await waitUntil(`the resolver sees ${name}`, async () => {
      const { stdout } = await runProgram(['dig', '@127.0.0.1', '-p', `${unbound.port}`, '+short', name, 'CNAME'])
      return stdout === `${value}.\n`
    })
  }
  const answer = await verify()
  t.equal(answer.status, 200, answer.text)
  const verified = answer.json<Shown>()
  t.match(verified, { status: 'verified', dns_records: [1, 2, 3].map(() => ({ status: 'verified' })) })
  await passes('with the first key', 'dkim1')

  const rotated = await service.cli('domain', 'rotate', 'customer.test', '--workspace', service.workspaceId)
  t.equal(rotated.status, 0, rotated.out + rotated.err)
  // The daemon notices it before its next commit: that of the email.
  await passes('with the other key', 'dkim2')
  t.same(service.errors, [])
})
