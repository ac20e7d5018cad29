import t from 'tap'
import type { Config } from '../../src/config/complete.js'
import { followSetting } from '../../src/config/follow-setting.js'
import { createLiveConfig, isReloadable } from '../../src/config/live-config.js'
import { parseConfig } from '../../src/config/load.js'

function config(text: string): Config {
  const loaded = parseConfig(text, null, { hostname: 'mx.test', home: '/root', isRoot: true, stateHome: undefined })
  if (loaded.kind === 'config') return loaded.config
  throw new Error(JSON.stringify(loaded.problems))
}

t.test('the view shows what a reload applies, and keeps the rest as it was at the start', async (t) => {
  const live = createLiveConfig(config(''))
  const { outbound, dns, sms, limits } = live.view
  t.same(JSON.stringify(live.view), JSON.stringify(config('')), 'the shape is that of a configuration')
  const next = config(`
[outbound]
max_connections = 7
routes = { "a.test" = "192.0.2.1:25" }
[dns]
servers = ["192.0.2.53"]
[sms.limits]
per_phone_per_hour = 2
[sms.smpp]
password = "new"
[limits.plans.pro]
credits = 1
`)
  t.same(live.apply(next), {
    applied: ['outbound.routes', 'outbound.max_connections', 'sms.limits.per_phone_per_hour', 'limits.plans'],
    pending: ['dns.servers', 'sms.smpp.password'],
  })
  t.match([outbound.max_connections, sms.limits.per_phone_per_hour, limits.plans['pro']], [7, 2, { credits: 1 }])
  t.match(outbound.routes, { 'a.test': { host: '192.0.2.1' } })
  t.same([dns.servers, sms.smpp.password], [[], ''])
  t.same(
    live.apply(next),
    { applied: [], pending: ['dns.servers', 'sms.smpp.password'] },
    'what waits is named each time',
  )
  t.same(live.apply(config('')).pending, [], 'back to what the daemon was started with')
  t.equal(outbound.max_connections, 100)
})

t.test('a setting that is not named needs a restart', async (t) => {
  for (const name of ['limits.plans', 'outbound.routes', 'log.level', 'sms.http.password'])
    t.ok(isReloadable(name), name)
  for (const name of [
    'dns.servers',
    'service.hostname',
    'api.listen',
    'log.format',
    'sms.provider',
    'outbound.anything',
  ])
    t.notOk(isReloadable(name), name)
})

t.test('what is built from a setting is built anew when a reload replaces it', async (t) => {
  const live = createLiveConfig(config(''))
  let built = 0
  const now = followSetting(
    () => live.view.outbound.routes,
    (routes) => {
      built += 1
      return Object.keys(routes)
    },
  )
  t.same([now(), now(), built], [[], [], 1])
  live.apply(config('[outbound]\nroutes = { "a.test" = "192.0.2.1:25" }'))
  t.same([now(), now(), built], [['a.test'], ['a.test'], 2])
})
