/** Each setting that a reload applies has its effect in a daemon that runs. */
import t from 'tap'
import { isReloadable } from '../../src/base/config/live-config.js'
import { listSettings } from '../helpers/config-settings.js'
import { skipOnPostgres } from '../helpers/database/test-engine.js'
import { waitUntil } from '../helpers/wait-until.js'
import { accountSettings } from './reloaded/account-settings.js'
import { gatewaySettings } from './reloaded/gateway-settings.js'
import { inboundSettings, inboundZone } from './reloaded/inbound-settings.js'
import { listenerSettings } from './reloaded/listener-settings.js'
import { MxClients } from './reloaded/mx-clients.js'
import { ReloadedDaemon } from './reloaded/observation.js'
import { openSinks, outboundSettings, outboundZone } from './reloaded/outbound-settings.js'
import { policySettings } from './reloaded/policy-settings.js'
import { openRecorder } from './reloaded/recorder.js'
import { doctorZone, upkeepSettings } from './reloaded/upkeep-settings.js'

const sinks = await openSinks()
t.teardown(() => Promise.all([sinks.one, sinks.two, sinks.deferring, sinks.holding].map((sink) => sink.close())))
const gateway = await openRecorder(t, { sid: 'SM00000000000000000000000000000000', status: 'queued' })
const rspamd = await openRecorder(t, { score: 0, required_score: 15, action: 'no action', symbols: {} })
const held = { 'held.test': sinks.holding, 'other.test': sinks.holding }
const here = await ReloadedDaemon.start(
  t,
  {
    ...{
      'outbound.port': sinks.one.port,
      'outbound.routes': held,
      'outbound.allowed_private_networks': ['127.0.0.0/8'],
    },
    ...{ 'inbound.proxies': ['127.0.0.1/32'], 'limits.plans': { small: { emails_per_month: 1_000_000 } } },
    ...{ 'sms.provider': 'http', 'sms.allowed_countries': ['DE', 'US'], 'sms.http.url': gateway.url },
    ...{ 'sms.http.username': 'AC1', 'sms.http.password': 'secret', 'sms.sender': '+15005550006' },
    ...{ 'sms.limits.min_verified_percent': 0, 'sms.limits.per_workspace_per_minute': 10_000 },
    'service.public_addresses': ['8.8.4.9'],
    ...{ 'doctor.mx_domains': [], 'doctor.block_lists': [], 'doctor.time_url': '', 'log.level': 'error' },
  },
  { ...inboundZone, ...outboundZone, ...doctorZone },
)
const { app } = here
for (const [domain, ...more] of [['home.test', '--inbound'], ['new.test']])
  await app.cli('domain', 'add', domain ?? '', '--force', '--workspace', app.workspaceId, ...more)
await app.cli('workspace', 'set-plan', app.otherWorkspaceId, 'small')
await app.cli('workspace', 'set-operator', app.otherWorkspaceId)
const mx = new MxClients(here)
await waitUntil('the listener knows the domain', async () =>
  /^250/.test(await mx.askRecipient('a@home.test', 'ann@b.test')),
)

const observations = {
  ...(await listenerSettings(here)),
  ...inboundSettings(here, mx, rspamd),
  ...outboundSettings(here, sinks),
  ...policySettings(here, mx, sinks),
  ...(await accountSettings(here)),
  ...(await gatewaySettings(here, gateway)),
  ...(await upkeepSettings(here, mx)),
}

t.test('each of them is observed', async (t) => {
  t.same(Object.keys(observations).toSorted(), listSettings().filter(isReloadable).toSorted())
})

const ofBackups = ['doctor.backup_folder', 'doctor.backup_max_age']

for (const [key, observation] of Object.entries(observations))
  t.test(key, { skip: ofBackups.includes(key) && skipOnPostgres('its backups are looked for') }, async (t) =>
    here.observe(t, key, observation),
  )
