/** What counts as a local trial, and which checks it leaves out. */
import t from 'tap'
import type { Config } from '../../../src/base/config/complete.js'
import { allChecks } from '../../../src/operations/doctor/checks/all-checks.js'
import { chooseChecks, isLocalTrial } from '../../../src/operations/doctor/local-trial.js'

const local = { host: '127.0.0.1', port: 1025 }

function configOf(changes: { hostname?: string; inbound?: string; relay?: string | null } = {}): Config {
  const { hostname = 'mail.example.test', inbound = '127.0.0.1', relay = '127.0.0.1' } = changes
  return {
    service: { hostname },
    api: {
      listen: [
        { kind: 'tls', ...local },
        { kind: 'unix', path: '/run/x' },
      ],
    },
    submission: { listen: [local], listen_tls: [{ ...local, host: 'localhost' }] },
    inbound: { listen: [{ ...local, host: inbound }] },
    outbound: { routes: relay === null ? {} : { '*': { host: relay, port: 25 } } },
  } as unknown as Config
}

t.test('a trial is on loopback alone, sends to this machine, and has a reserved name', async (t) => {
  t.ok(isLocalTrial(configOf()))
  t.notOk(isLocalTrial(configOf({ hostname: 'mail.example.net' })), 'a name of the public DNS')
  t.notOk(isLocalTrial(configOf({ inbound: '0.0.0.0' })), 'other servers can connect')
  t.notOk(isLocalTrial(configOf({ relay: null })), 'mail goes to the world')
  t.notOk(isLocalTrial(configOf({ relay: '192.0.2.1' })), 'mail goes to another machine')
})

t.test('a trial leaves out checks of the public DNS, and no other server does', async (t) => {
  const names = chooseChecks(allChecks, configOf()).map(({ name }) => name)
  for (const name of ['ptr', 'helo', 'port25-in', 'dnssec', 'zone', 'service-dkim']) t.notOk(names.includes(name), name)
  for (const name of ['trial', 'disk', 'webhooks', 'backup']) t.ok(names.includes(name), name)
  t.equal(chooseChecks(allChecks, configOf({ relay: null })), allChecks)
})

t.test('the check says so in a trial alone', async (t) => {
  const check = allChecks.find(({ name }) => name === 'trial')
  const run = (config: Config) => check?.run({ config } as Parameters<(typeof allChecks)[number]['run']>[0])
  t.match(await run(configOf()), [{ state: 'ok', text: /^this is a local trial/ }])
  t.same(await run(configOf({ relay: null })), [])
})
