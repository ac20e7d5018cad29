/** `posthorn config`: what it prints, of which settings, and what it refuses. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import t from 'tap'
import { listEffectiveValues } from '../../../../src/base/config/effective-values.js'
import { loadConfig } from '../../../../src/base/config/load.js'
import { SettingsInForce } from '../../../../src/base/config/settings-in-force.js'
import { lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { runCommand } from '../../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

function writeFile(folder: string, text: string): string {
  const file = join(folder, 'posthorn.toml')
  writeFileSync(file, `[service]\ndata_dir = "data"\n${text}`)
  return file
}

t.test('the settings in force are printed as lines of TOML, and each names its source', async (t) => {
  const folder = temporaryFolder(t)
  const file = writeFile(folder, '[outbound]\nport = 2525\n[outbound.routes]\n"b.test" = "192.0.2.1:25"\n')
  const run = (...argv: readonly string[]) => runCommand(['config', ...argv, '--config', file])
  t.same(await run('outbound.port').then(({ out }) => out), `outbound.port = 2525  # ${file}:4\n`)
  const outbound = await run('outbound')
  t.match(outbound.out, /^outbound\.expire_after = "4d" {2}# default$/m)
  t.match(parse(outbound.out), { outbound: { port: 2525, routes: { 'b.test': '192.0.2.1:25' }, sources: [] } })
  t.notMatch(outbound.out, /^(?!outbound\.)./m)
  t.match(await run('outbound.routes.b.test'), { out: `outbound.routes."b.test" = "192.0.2.1:25"  # ${file}:6\n` })
  t.match(await run('sms.http.password', 'inbound.refuse_listed_from'), {
    out: '# inbound.refuse_listed_from is not set\nsms.http.password = (not set)  # default\n',
  })
  t.same((await run('outbound.port', 'ui.enabled', '--json')).json(), {
    values: [
      { key: 'ui.enabled', value: true, source: 'default' },
      { key: 'outbound.port', value: 2525, source: `${file}:4` },
    ],
  })
  t.match((await run()).out, /^limits\.plans\.free = \{ requests_per_second = 10, burst = 20, /m)
})

t.test('an unknown setting is refused with the one that was probably meant', async (t) => {
  const file = writeFile(temporaryFolder(t), '')
  const cases: readonly (readonly [word: string, says: RegExp])[] = [
    ['outbuond', /unknown setting: outbuond; did you mean "outbound"\?/],
    ['outbound.prot', /did you mean "outbound\.port"\?/],
    ['retry_schedule', /did you mean "outbound\.retry_schedule", "webhooks\.retry_schedule"\?/],
    ['outb', /unknown setting: outb\n/],
  ]
  for (const [word, says] of cases) {
    t.match(await runCommand(['config', word, '--config', file]), { status: 2, out: '', err: says }, word)
  }
})

t.test('the problems of a faulty file are printed as by check', async (t) => {
  const file = writeFile(temporaryFolder(t), '[outbound]\nport = "x"\n')
  t.match(await runCommand(['config', '--config', file]), { status: 1, out: '', err: /outbound\.port: found "x"/ })
  const { status, json } = await runCommand(['config', '--json', '--config', file])
  t.equal(status, 1)
  t.match(json(), { ok: false, problems: [{ key: 'outbound.port' }] })
})

t.test(
  'where the running daemon has another value, the line says which, and what puts the new one in force',
  async (t) => {
    const folder = temporaryFolder(t)
    const data = join(folder, 'data')
    mkdirSync(data)
    const before = writeFile(folder, '[log]\nlevel = "warn"\n[api]\nlisten = ["127.0.0.1:1"]\n')
    const loaded = loadConfig({ file: before, env: {} })
    if (loaded.kind === 'problems') throw new Error('the configuration has problems')
    const values = listEffectiveValues(loaded.config, loaded.written)
    new SettingsInForce(data, values).publish(values)
    const file = writeFile(folder, '[api]\nlisten = ["127.0.0.1:2"]\n')
    const run = (...argv: readonly string[]) =>
      runCommand(['config', 'api.listen', 'log.level', ...argv, '--config', file])
    t.notMatch((await run()).out, /daemon/, 'no daemon runs')
    const lock = lockDataFolder(data)
    t.teardown(() => lock.release())
    t.equal(
      (await run()).out,
      `api.listen = ["127.0.0.1:2"]  # ${file}:4 (the daemon still has ["127.0.0.1:1"]: restart)\n` +
        'log.level = "info"  # default (the daemon still has "warn": reload)\n',
    )
    t.match((await run('--json')).json(), {
      values: [{ key: 'api.listen', daemon_value: ['127.0.0.1:1'], needs: 'restart' }, { key: 'log.level' }],
    })
  },
)
