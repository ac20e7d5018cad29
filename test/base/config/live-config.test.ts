import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Config } from '../../../src/base/config/complete.js'
import { followSetting } from '../../../src/base/config/follow-setting.js'
import { isReloadable, LiveConfig, settingsByEffect } from '../../../src/base/config/live-config.js'
import { parseConfig } from '../../../src/base/config/load.js'
import { listSettings } from '../../helpers/config-settings.js'

function config(text: string): Config {
  const loaded = parseConfig(text, null, { hostname: 'mx.test', home: '/root', isRoot: true, stateHome: undefined })
  if (loaded.kind === 'config') return loaded.config
  throw new Error(JSON.stringify(loaded.problems))
}

t.test('in force is what a reload applies, and the rest as it was at the start', async (t) => {
  const live = new LiveConfig(config(''))
  t.same(live.settings(), config(''))
  const next = config(`
[outbound]
max_connections = 7
routes = { "a.test" = "192.0.2.1:25" }
[inbound]
refuse_listed_from = 2
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
    applied: [
      'inbound.refuse_listed_from',
      'outbound.routes',
      'outbound.max_connections',
      'sms.limits.per_phone_per_hour',
      'limits.plans',
    ],
    pending: ['dns.servers', 'sms.smpp.password'],
  })
  const { outbound, dns, sms, limits, inbound } = live.settings()
  t.match([outbound.max_connections, sms.limits.per_phone_per_hour, limits.plans['pro']], [7, 2, { credits: 1 }])
  t.match(outbound.routes, { 'a.test': { host: '192.0.2.1' } })
  t.equal(inbound.refuse_listed_from, 2)
  t.same([dns.servers, sms.smpp.password], [[], ''])
  t.same(
    live.apply(next),
    { applied: [], pending: ['dns.servers', 'sms.smpp.password'] },
    'what waits is named each time',
  )
  t.same(live.apply(config('')).pending, [], 'back to what the daemon was started with')
  t.same(live.settings(), config(''))
})

t.test('each setting of the schema is either applied by a reload or needs a restart', async (t) => {
  const all = listSettings()
  t.ok(all.includes('tls.acme.email') && all.includes('limits.plans') && all.length > 120, `${all.length} settings`)
  const holds = (entry: string, name: string): boolean => name === entry || name.startsWith(`${entry}.`)
  for (const name of all) {
    const entries = Object.values(settingsByEffect).flatMap((list) => list.filter((entry) => holds(entry, name)))
    t.equal(entries.length, 1, `${name} is named once: ${entries.join(', ')}`)
    t.equal(
      isReloadable(name),
      settingsByEffect.reloaded.some((entry) => holds(entry, name)),
      name,
    )
  }
  for (const entry of Object.values(settingsByEffect).flat()) {
    t.ok(
      all.some((name) => holds(entry, name)),
      `${entry} is a setting or a section`,
    )
  }
})

t.test('docs/reload.md names what needs a restart', async (t) => {
  const paragraphs = readFileSync('docs/reload.md', 'utf8').split('\n\n')
  const text = paragraphs.find((paragraph) => paragraph.startsWith('These need a restart')) ?? ''
  const named = [...text.matchAll(/`([a-z_.]+?)(?:\.\*)?`/g)].map(([, name]) => name)
  t.same(named.toSorted(), settingsByEffect.restarted.toSorted())
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
  const live = new LiveConfig(config(''))
  let built = 0
  const now = followSetting(
    () => live.settings().outbound.routes,
    (routes) => {
      built += 1
      return Object.keys(routes)
    },
  )
  t.same([now(), now(), built], [[], [], 1])
  live.apply(config('[outbound]\nroutes = { "a.test" = "192.0.2.1:25" }'))
  t.same([now(), now(), built], [['a.test'], ['a.test'], 2])
})
