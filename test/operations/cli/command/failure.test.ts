/** What a program that fails prints on standard error: the advice for an ordinary user, priorities for the journal. */
import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createInstallation, programFile } from '../../../helpers/cli/command-line.js'
import { runCommand, writeConfiguration } from '../../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { plainNode } from '../../../helpers/programs/plain-node.js'

const root = process.getuid?.() === 0
const nobody = 65_534

t.test(
  'a configuration that is closed to the user says whose rights are needed',
  { skip: !root && 'not root' },
  async (t) => {
    const { config, folder } = createInstallation(t)
    chmodSync(folder, 0o755)
    chmodSync(config, 0o640)
    const runAsNobody = (...words: readonly string[]): ReturnType<typeof spawnSync> =>
      spawnSync('env', plainNode(programFile, ...words, '--config', config), {
        encoding: 'utf8',
        uid: nobody,
        gid: nobody,
      })
    const message = `the user nobody may not read ${config}: use sudo, or log in as root`
    for (const words of [['queue', 'list'], ['check']]) {
      t.match(runAsNobody(...words), { status: 1, stdout: '', stderr: `posthorn: ${message}\n` }, words.join(' '))
      const { stdout } = runAsNobody(...words, '--json')
      t.match(JSON.parse(String(stdout)), { ok: false, problems: [{ key: '', message }] }, words.join(' '))
    }
  },
)

t.test('each line for the journal has the priority of an error, and no line elsewhere', async (t) => {
  const file = join(temporaryFolder(t), 'stderr')
  const output = openSync(file, 'w')
  const { dev, ino } = fstatSync(output)
  const words = plainNode(programFile, 'nonsense')
  for (const journal of [`${dev}:${ino}`, '1:1']) {
    const env = { PATH: process.env['PATH'] ?? '', JOURNAL_STREAM: journal }
    t.equal(spawnSync('env', words, { env, stdio: ['ignore', 'ignore', output] }).status, 2)
  }
  closeSync(output)
  const written = readFileSync(file, 'utf8')
  t.match(
    written,
    /^<3>posthorn: unknown command: nonsense\n<3>"posthorn help" .*\nposthorn: unknown command.*\n"posthorn/,
  )
})

t.test('a setting of the server that is wrong is named once', async (t) => {
  const settings = { storage: { url: 'postgres://a@127.0.0.1:1/b', ca_file: '/none' } }
  const { file } = writeConfiguration(temporaryFolder(t), { settings })
  const run = (...words: readonly string[]) => runCommand([...words, '--config', file])
  const fault = 'storage\\.ca_file: found "/none", which cannot be used \\(ENOENT\\); allowed: .*\\n'
  t.match(await run('workspace', 'list'), { status: 1, err: new RegExp(`^posthorn: ${fault}$`) })
  t.match(await run('check'), { status: 1, out: new RegExp(`${file}: ${fault}`) })
})
