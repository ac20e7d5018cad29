/** The program that packages run: it never changes a configuration that is there. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { plainNode } from '../../helpers/programs/plain-node.js'

const program = fileURLToPath(new URL('../../../src/operations/installation/main.js', import.meta.url))

interface Result {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

function run(...words: readonly string[]): Promise<Result> {
  return runProgram(process.execPath, program, ...words)
}

function runProgram(file: string, ...words: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(file, words, (error, stdout, stderr) => {
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

t.test('a disk that takes no more leaves no part of a configuration', async (t) => {
  const file = join(folder, 'full.toml')
  const words = ['--template', 'config/production.toml', '--output', file, '--hostname', 'mail.example.net']
  // The limit is in blocks of 1024 bytes, and the configuration is longer than one.
  const limited = ['-c', 'ulimit -f 1; exec "$@"', 'bash', 'env', ...plainNode(program, ...words)]
  t.match(await runProgram('bash', ...limited), { status: 1, stderr: /could not be written: EFBIG/ })
  t.same(
    readdirSync(folder).filter((name) => name.startsWith('full')),
    [],
  )
})

t.test('wrong usage and failures have a line each', async (t) => {
  t.match(await run('--output', output), { status: 2, stderr: /^posthorn: --template and --output are needed\n$/ })
  const named = await run(...options, '--hostname', 'mail')
  t.match(named, { status: 2, stderr: /^posthorn: --hostname: found "mail", allowed: a host name with its domain/ })
  const missing = await run('--template', join(folder, 'none'), '--output', join(folder, 'new.toml'))
  t.match(missing, { status: 1, stderr: /^posthorn: the first configuration could not be written: ENOENT/ })
})
