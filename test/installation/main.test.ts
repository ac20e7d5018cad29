/** The program that packages run: it never changes a configuration that is there. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const program = fileURLToPath(new URL('../../src/installation/main.js', import.meta.url))

interface Result {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

function run(...words: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...words], (error, stdout, stderr) => {
      resolve({ status: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

const folder = mkdtempSync(join(tmpdir(), 'posthorn-installation-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const output = join(folder, 'posthorn.toml')
const options = ['--template', 'config/production.toml', '--output', output]

t.test('it writes a configuration with the name that is asked for, once', async (t) => {
  const dry = await run(...options, '--hostname', 'mail.example.net', '--dry-run')
  t.match(dry, { status: 0, stdout: /would create .*posthorn\.toml\n {2}hostname mail\.example\.net: as asked for/ })
  t.equal(statSync(output, { throwIfNoEntry: false }), undefined)

  const written = await run(...options, '--hostname', 'mail.example.net')
  t.match(written, { status: 0, stdout: /created .*posthorn\.toml[\s\S]*Left to do:/ })
  t.match(readFileSync(output, 'utf8'), /^hostname = "mail\.example\.net"$/m)
  t.equal(statSync(output).mode & 0o777, 0o640 & ~process.umask())

  writeFileSync(output, 'mine')
  t.match(await run(...options), { status: 0, stdout: `kept ${output}\n` })
  t.equal(readFileSync(output, 'utf8'), 'mine')
})

t.test('wrong usage and failures have a line each', async (t) => {
  t.match(await run('--output', output), { status: 2, stderr: /^posthorn: --template and --output are needed\n$/ })
  const named = await run(...options, '--hostname', 'mail')
  t.match(named, { status: 2, stderr: /^posthorn: --hostname: found "mail", allowed: a host name with its domain/ })
  const missing = await run('--template', join(folder, 'none'), '--output', join(folder, 'new.toml'))
  t.match(missing, { status: 1, stderr: /^posthorn: the first configuration could not be written: ENOENT/ })
})
