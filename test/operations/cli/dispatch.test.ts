/** What a start of the program loads: version and help know no library, and a command loads no more than its own code. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { programFile } from '../../helpers/cli/command-line.js'
import { temporaryFolder } from '../../helpers/database/database.js'

interface Coverage {
  readonly result: readonly { readonly url: string }[]
}

/** The files that the program loads for these arguments, as `operations/cli/run.js` and `node_modules/zod/index.js`. */
function loadedFiles(folder: string, argv: readonly string[]): readonly string[] {
  const coverage = join(folder, `loaded-by-${argv.slice(0, 2).join('-')}`)
  spawnSync(process.execPath, [programFile, ...argv], { env: { ...process.env, NODE_V8_COVERAGE: coverage } })
  return readdirSync(coverage)
    .map((name) => JSON.parse(readFileSync(join(coverage, name), 'utf8')) as Coverage)
    .flatMap(({ result }) => result.map(({ url }) => url))
    .filter((url) => url.startsWith('file:'))
    .map((url) => url.replace(/^.*(?=\/node_modules\/)\/|^.*\/dist\/src\//, ''))
}

t.test('version and help load the list of commands, and neither a command nor a library', async (t) => {
  const folder = temporaryFolder(t)
  for (const argv of [['--version'], ['help'], ['help', 'queue', 'list'], ['key', '--help']]) {
    const files = loadedFiles(folder, argv)
    t.ok(files.includes('operations/cli/command-list/all-commands.js'), argv.join(' '))
    const allowed =
      /^(?:main|operations\/cli\/(?:command|command-list)\/[\w-]+|operations\/cli\/[\w-]+|base\/platform\/[\w-]+|records\/messages\/queue\/queue-status)\.js$/
    t.same(
      files.filter((file) => !allowed.test(file)),
      [],
      argv.join(' '),
    )
  }
})

t.test('a command loads neither the daemon nor other commands', async (t) => {
  const folder = temporaryFolder(t)
  const config = join(folder, 'posthorn.toml')
  writeFileSync(config, `[service]\ndata_dir = ${JSON.stringify(folder)}\n`)
  const cases = [
    { argv: ['reload'], own: 'reload', without: /^node_modules\/(?:kysely|pino|libphonenumber-js)\// },
    { argv: ['queue', 'summary'], own: 'queue-commands', without: /^node_modules\/(?:pino|libphonenumber-js)\// },
    { argv: ['explain', 'em_1'], own: 'email-commands', without: /^node_modules\/(?:pino|libphonenumber-js)\// },
  ]
  for (const { argv, own, without } of cases) {
    const files = loadedFiles(folder, [...argv, `--config=${config}`])
    t.same(
      files.filter((file) => file.startsWith('operations/cli/commands/')),
      [`operations/cli/commands/${own}.js`],
      argv.join(' '),
    )
    t.same(
      files.filter(
        (file) =>
          file.startsWith('operations/daemon/') ||
          file.startsWith('base/storage/writer/writer-worker') ||
          without.test(file),
      ),
      [],
      argv.join(' '),
    )
  }
})
