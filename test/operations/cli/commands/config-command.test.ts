/** `posthorn config`: what it prints, of which settings, and what it refuses. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import t from 'tap'
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
