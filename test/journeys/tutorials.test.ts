/**
 * The tutorials of docs/tutorials as their readers follow them: files and commands as printed, with other ports, against
 * the quickstart. `scripts/test-tutorials` also makes the projects of the large frameworks, and names their folder in
 * `TUTORIALS`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { temporaryFolder } from '../helpers/database/database.js'
import { freeBase, freePort } from '../helpers/free-port.js'
import { python, skipWithoutModule } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { waitUntil } from '../helpers/wait-until.js'
import { readExamples, readShownFiles, withPorts } from './support/examples.js'
import { sandboxPorts, startSandbox } from './support/sandbox.js'

interface Tutorial {
  readonly page: string
  /** Words of the command that starts the application. */
  readonly start: string
  readonly skip: false | string
  /** Makes what the page expects in an empty folder. */
  readonly prepare?: (folder: string) => Promise<unknown>
  /** The folder of the project that `scripts/test-tutorials` has made. */
  readonly project?: string
  /** The file with what the application prints, if it is not its output. */
  readonly log?: string
}

interface Hook {
  readonly id: string
  readonly signing_secret: string
}

const intro = 'docs/tutorials/README.md'
const projects = process.env['TUTORIALS']
const shell = promisify(execFile)
const pythonModules = (...names: readonly string[]): false | string =>
  skipWithoutModule([python, '-c', `import ${names.join(', ')}`], `one of the Python modules ${names.join(', ')}`)

const tutorials: Readonly<Record<string, Tutorial>> = {
  Express: {
    page: 'docs/tutorials/node.md',
    start: 'node app.js',
    skip: false,
    prepare: async (folder) => {
      writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
      symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
    },
  },
  Django: {
    page: 'docs/tutorials/python.md',
    start: 'runserver',
    skip: pythonModules('django'),
    prepare: (folder) => inTerminal(folder, commandsWith('docs/tutorials/python.md', 'startproject')),
  },
  FastAPI: {
    page: 'docs/tutorials/python.md',
    start: 'uvicorn app:app',
    skip: pythonModules('fastapi', 'httpx', 'uvicorn'),
  },
  'Next.js': { page: 'docs/tutorials/node.md', start: 'npx next start', skip: false, project: 'next' },
  Laravel: {
    page: 'docs/tutorials/php.md',
    start: 'artisan serve',
    skip: skipWithout('php'),
    project: 'laravel',
    log: 'storage/logs/laravel.log',
  },
  Rails: { page: 'docs/tutorials/ruby.md', start: 'rails server', skip: skipWithout('ruby'), project: 'rails-app' },
}

const clone = temporaryFolder(t)
const base = await freeBase(sandboxPorts)
const sandbox = startSandbox(t, '--data', join(clone, 'data'), '--port-base', String(base))
await sandbox.line(/^Serving/)

const environment = {
  ...process.env,
  PATH: [dirname(process.execPath), '/usr/bin', process.env['PATH']].join(':'),
  PYTHONUNBUFFERED: '1',
  NODE_OPTIONS: '',
}

/** The block without a language that has these words, from the block `after` on. */
function commandsWith(page: string, words: string, after = ''): string {
  const blocks = readExamples(page, '')
  const from = Math.max(0, blocks.indexOf(after))
  const found = blocks.slice(from).find((text) => text.includes(words))
  if (found === undefined) throw new Error(`${page} has no command with ${words}`)
  return found
}

/** What a reader types in a terminal in which the variables of the introduction are set. */
function terminalScript(folder: string, commands: string, secret = ''): string {
  const exports = commandsWith(intro, 'export ')
  return `set -e\ncd '${clone}'\n${exports}export WEBHOOK_SECRET='${secret}'\ncd '${folder}'\n${withPorts(commands, base)}`
}

async function inTerminal(folder: string, commands: string, secret?: string): Promise<string> {
  const { stdout } = await shell('bash', ['-c', terminalScript(folder, commands, secret)], { env: environment })
  return stdout
}

async function askRest<T>(method: 'GET' | 'DELETE', path: string): Promise<T> {
  const read = (name: string): string => readFileSync(join(clone, 'data', name), 'utf8').trim()
  const dispatcher = new Agent({ connect: { ca: read('tls/cert.pem') } })
  const headers = { authorization: `Bearer ${read('quickstart-key')}` }
  const { body } = await request(`https://localhost:${base + 443}/v1${path}`, { method, headers, dispatcher })
  const answer = (await body.json()) as T
  await dispatcher.close()
  return answer
}

function writeFiles(page: string, folder: string, onPort: (text: string) => string): void {
  for (const { path, text, isAddition } of readShownFiles(page)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    const write = isAddition ? appendFileSync : writeFileSync
    write(file, onPort(withPorts(text, base)))
  }
}

/** A process group of its own: servers that start others end with them. */
function startInGroup(t: Test, script: string, output: number): ChildProcess {
  const child = spawn('bash', ['-c', script], {
    env: environment,
    detached: true,
    stdio: ['ignore', output, output],
  })
  const ended = once(child, 'close')
  t.teardown(async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await ended
  })
  return child
}

async function waitForListener(child: ChildProcess, port: number, output: string): Promise<void> {
  const isThere = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
  const isReady = async (): Promise<boolean> => {
    await pause(50)
    if (child.exitCode !== null) throw new Error(readFileSync(output, 'utf8'))
    return isThere()
  }
  await waitUntil('the application listens', isReady, 120_000)
}

async function refuseForged(t: Test, port: number, secret: string): Promise<void> {
  const body = JSON.stringify({ id: 'evt_1', type: 'email.delivered', data: { to: 'forged@example.test' } })
  const sign = (key: string, text: string): string => `sha256=${createHmac('sha256', key).update(text).digest('hex')}`
  const forgeries = [sign('whsec_other', body), sign(secret, `${body} `), sign(secret, body).slice(7), 'sha256=ü', null]
  for (const signature of forgeries) {
    const field = signature === null ? {} : { 'X-Service-Signature': signature }
    const headers = { 'Content-Type': 'application/json', ...field }
    const answer = await fetch(`http://127.0.0.1:${port}/hooks/mail`, { method: 'POST', headers, body })
    await answer.text()
    t.equal(answer.status, 401, `signature ${signature}`)
  }
}

/** In what an application prints. */
const printedWords = [
  /delivered to you@example\.test/,
  /bounced: bounce@simulator\.mail\.example\.test: 550 /,
  /received from friend@elsewhere\.example: Question: This is a test mailing/,
]

async function follow(t: Test, name: string, { page, start, prepare, project, log }: Tutorial): Promise<void> {
  const folder = project === undefined ? temporaryFolder(t) : join(projects ?? '', project)
  const port = await freePort()
  const onPort = (text: string): string => text.replaceAll(/\b3000\b/g, String(port))
  await prepare?.(folder)
  writeFiles(page, folder, onPort)
  const hook = JSON.parse(await inTerminal(clone, onPort(commandsWith(intro, '/v1/webhooks')))) as Hook
  const { signing_secret: secret } = hook
  t.teardown(() => askRest('DELETE', `/webhooks/${hook.id}`))

  const output = join(folder, 'output.txt')
  const starting = commandsWith(page, start)
  const child = startInGroup(t, terminalScript(folder, onPort(starting), secret), openSync(output, 'w'))
  await waitForListener(child, port, output)
  await refuseForged(t, port, secret)

  await inTerminal(folder, onPort(commandsWith(page, 'swaks ', starting)), secret)
  const printed = (): string => readFileSync(join(folder, log ?? 'output.txt'), 'utf8')
  for (const words of printedWords) {
    await waitUntil('it prints what happened', () => words.test(printed())).catch(() => t.match(printed(), words))
  }
  t.notMatch(printed(), 'delivered to forged@example.test')
  t.match(await sandbox.line(new RegExp(`^arrived .*"Hello from ${name}"`)), /to you@example\.test .* DKIM pass/)
  await waitUntil('all deliveries have succeeded', async () => {
    const { data } = await askRest<{ data: { status: string }[] }>('GET', `/webhooks/${hook.id}/deliveries`)
    return data.length >= printedWords.length && data.every(({ status }) => status === 'delivered')
  })
}

const isMade = ({ project }: Tutorial): boolean => project === undefined || projects !== undefined

for (const [name, tutorial] of Object.entries(tutorials).filter(([, one]) => isMade(one))) {
  const skip = skipWithout('curl') || skipWithout('swaks') || tutorial.skip
  t.test(`the tutorial for ${name}`, { skip, timeout: 240_000 }, (t) => follow(t, name, tutorial))
}

t.test('each page of the folder is run', async (t) => {
  const pages = new Set(Object.values(tutorials).map(({ page }) => page))
  const linked = [...readFileSync(intro, 'utf8').matchAll(/\]\((\w+\.md)/g)].map(([, page]) => `docs/tutorials/${page}`)
  t.same(new Set(linked), pages)
})
