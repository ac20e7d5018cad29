/** The settings in force: where each was set, and that no secret is among them. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { type EffectiveValue, eachSetting, listEffectiveValues } from '../../../src/base/config/effective-values.js'
import { loadConfig } from '../../../src/base/config/load.js'
import { temporaryFolder } from '../../helpers/database/database.js'

interface Loading {
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

function listValues(t: Test, text: string, { files = {}, env = {} }: Loading = {}) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'credentials'))
  for (const [name, content] of Object.entries({ ...files, 'posthorn.toml': text })) {
    writeFileSync(join(folder, name), content)
    chmodSync(join(folder, name), 0o600)
  }
  const file = join(folder, 'posthorn.toml')
  const loaded = loadConfig({ file, env: { CREDENTIALS_DIRECTORY: join(folder, 'credentials'), ...env } })
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  const all = listEffectiveValues(loaded.config, loaded.written)
  const find = (key: string): readonly unknown[] => {
    const found = all.find((one) => one.key === key)
    return [found?.value, found?.source.replace(`${folder}/`, '')]
  }
  return { all, find, folder }
}

t.test('every setting has a value as the file states it, and the line or file that set it', async (t) => {
  const { all, find, folder } = listValues(
    t,
    `# A comment, then a section.
service.data_dir = "data"

[outbound]  # with a comment
port = 2525
retry_schedule = [
  "1m",
  # [inbound]
  "2m",
]
routes = { "b.test" = "192.0.2.1:25", plain = "192.0.2.2:25" }
warm_up_route = """"""
[[outbound.sources]]
address = "192.0.2.7"

[limits.plans."my plan"]
credits = 5
[inbound]
greylisting.enabled = true
`,
  )
  t.same(find('outbound.port'), [2525, 'posthorn.toml:5'])
  t.same(find('outbound.retry_schedule'), [['1m', '2m'], 'posthorn.toml:6'])
  t.same(find('outbound.routes."b.test"'), ['192.0.2.1:25', 'posthorn.toml:11'])
  t.same(find('outbound.routes.plain'), ['192.0.2.2:25', 'posthorn.toml:11'])
  t.same(find('outbound.sources'), [[{ address: '192.0.2.7' }], 'posthorn.toml:13'])
  t.same(find('limits.plans."my plan"'), [{ credits: 5 }, 'posthorn.toml:16'])
  t.same(find('limits.plans.free'), [{ requests_per_second: 10, burst: 20, emails_per_month: 5_000 }, 'default'])
  t.same(find('inbound.greylisting.enabled'), [true, 'posthorn.toml:19'])
  t.same(find('service.data_dir'), [join(folder, 'data'), 'posthorn.toml:2'], 'a path is complete')
  t.same(find('outbound.expire_after'), ['4d', 'default'])
  t.same(find('log.levels'), [{}, 'default'], 'a table without entries is one setting')
  t.same(find('inbound.refuse_listed_from'), [null, 'default'])
  const names = new Set(all.map(({ key }) => key))
  const missing = [...eachSetting()].filter(({ path }) => ![...names].some((key) => key.startsWith(path.join('.'))))
  t.same(missing, [])
})

t.test('the default of the data folder may come from the environment', async (t) => {
  const ofHome = listValues(t, '', { env: { HOME: '/home/a' } }).find('service.data_dir')
  const ofState = listValues(t, '', { env: { XDG_STATE_HOME: '/state' } }).find('service.data_dir')
  const isRoot = process.getuid?.() === 0
  t.same(ofHome, [isRoot ? '/var/lib/posthorn' : '/home/a/.local/state/posthorn', 'default'])
  t.same(ofState, isRoot ? ofHome : ['/state/posthorn', 'environment XDG_STATE_HOME'])
})

t.test('a value of another file names that file or the credential', async (t) => {
  const text = `
[outbound]
routes = { "own.test" = "192.0.2.1:25" }
routes_file = "routes"
[spam]
rspamd_url_file = "$CREDENTIALS_DIRECTORY/rspamd"
[sms.http]
password_file = "$CREDENTIALS_DIRECTORY/absent"
`
  const files = {
    routes: '"b.test" = "smtps://user:pa%40ss@relay.test:465"\n',
    'credentials/rspamd': 'http://user:hidden@127.0.0.1:11333\n',
  }
  const { find } = listValues(t, text, { files })
  t.same(find('outbound.routes."own.test"'), ['192.0.2.1:25', 'posthorn.toml:3'])
  t.same(find('outbound.routes."b.test"'), ['smtps://(hidden)@relay.test:465', 'routes'])
  t.same(find('outbound.routes_file'), ['routes', 'posthorn.toml:4'])
  t.same(find('spam.rspamd_url'), ['http://(hidden)@127.0.0.1:11333', 'credential rspamd'])
  t.same(find('sms.http.password'), ['(not read)', 'credential absent'], 'only the daemon has it')
  t.same(find('sms.http.password_file'), ['$CREDENTIALS_DIRECTORY/absent', 'posthorn.toml:8'])
  t.same(find('sms.smpp.password'), ['(not set)', 'default'])
})

t.test('no secret is shown, wherever it is', async (t) => {
  const text = stringify({
    spam: { rspamd_url: 'http://SECRET:SECRET@SECRET@127.0.0.1:1' },
    outbound: { routes: { '*': 'smtp://SECRET:SECRET@relay.test' }, warm_up_route: 'smtps://SECRET:SECRET@b.test' },
    sms: {
      provider: 'http',
      http: {
        ...{ url: 'https://SECRET:SECRET@sms.test/x', username: 'SECRET', password: 'SECRET' },
        body_template: '{"to":"{to}","text":"{text}","key":"SECRET"}',
      },
      smpp: { url: 'smpp://smpp.test', system_id: 'SECRET', password: 'SECRET' },
    },
    doctor: { time_url: 'https://SECRET:SECRET@time.test/' },
  })
  const { all } = listValues(t, text)
  t.notMatch(JSON.stringify(all), /SECRET/)
  const hidden = all.filter((one: EffectiveValue) => one.hidden && one.value !== '(not set)').map(({ key }) => key)
  t.same(hidden, [
    'spam.rspamd_url',
    'outbound.warm_up_route',
    'outbound.routes."*"',
    'sms.http.url',
    'sms.http.username',
    'sms.http.password',
    'sms.http.body_template',
    'sms.smpp.system_id',
    'sms.smpp.password',
    'doctor.time_url',
  ])
})
