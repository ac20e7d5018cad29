/**
 * The real program in a folder of its own: its command line, and its daemon as another process.
 *
 * Nothing here knows the inside of the daemon; a test sees what an operator sees: exit statuses, JSON on standard
 * output, the log. Ports are 0 and differ from start to start.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { run } from '../../../src/operations/cli/run.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { plainNode } from '../../helpers/programs/plain-node.js'

const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url))
const impatient = fileURLToPath(new URL('./impatient-daemon.js', import.meta.url))

export type LogLine = Readonly<Record<string, unknown>>

export interface ProgramResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Installation {
  readonly folder: string
  readonly dataDir: string
  readonly file: string
}

interface ReadyInstallation extends Installation {
  readonly workspace: string
  readonly key: string
  /** The published record of the selector that signs. */
  readonly dkimRecord: string
}

export interface Daemon {
  readonly port: number
  readonly tlsPort: number
  readonly mxPort: number
  readonly apiPort: number
  readonly pid: number
  readonly log: readonly LogLine[]
  /** Resolves to the first line of the log that fits, earlier ones included. */
  readonly waitForLog: (fits: (line: LogLine) => boolean) => Promise<LogLine>
  readonly signal: (name: NodeJS.Signals) => void
  /** The exit status, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** A folder with a configuration, where `sink.test` is routed to this port; `more`: further sections. */
export function createInstallation(t: Test, sinkPort: number, more = ''): Installation {
  const folder = temporaryFolder(t)
  const made = { folder, dataDir: join(folder, 'data'), file: join(folder, 'posthorn.toml') }
  configure(made, sinkPort, more)
  return made
}

export function configure({ dataDir, file }: Installation, sinkPort: number, more = ''): void {
  const text = `[service]
hostname = "localhost"
data_dir = ${JSON.stringify(dataDir)}
[api]
listen = ["127.0.0.1:0"]
[submission]
listen = ["127.0.0.1:0"]
listen_tls = ["127.0.0.1:0"]
[inbound]
listen = ["127.0.0.1:0"]
${more}
[outbound]
routes = { "sink.test" = "127.0.0.1:${sinkPort}" }
`
  writeFileSync(file, text)
}

/** With a workspace, a key, and `sender.test`; `trusted`: a network that submits without AUTH. */
export async function createReadyInstallation(t: Test, sinkPort: number, trusted: string): Promise<ReadyInstallation> {
  const bare = createInstallation(t, sinkPort)
  const owner = await runForJson(bare, 'setup', '--workspace', 'Journeys', '--email', 'owner@sender.test')
  const domain = await runForJson(bare, 'domain', 'add', 'sender.test', '--force')
  const workspace = String(owner['workspace_id'])
  configure(bare, sinkPort, `[[submission.trusted]]\nnetwork = "${trusted}"\nworkspace = "${workspace}"`)
  const keys = domain['dkim_keys'] as readonly { readonly txt: string; readonly signing: boolean }[]
  const dkimRecord = keys.find(({ signing }) => signing)?.txt ?? ''
  return { ...bare, workspace, key: String(owner['api_key']), dkimRecord }
}

/** Runs a command in a process of its own. */
export function runCommand({ file }: Installation, ...words: readonly string[]): Promise<ProgramResult> {
  return waitForExit(spawn('env', plainNode(main, ...words, '--config', file)))
}

/** Runs a command in this process, which saves the start of another one. */
export async function runInProcess({ file }: Installation, ...words: readonly string[]): Promise<ProgramResult> {
  const texts = { stdout: '', stderr: '' }
  const status = await run({
    argv: [...words, '--config', file],
    env: {},
    print: (text) => {
      texts.stdout += text
    },
    printBytes: () => Promise.reject(new Error('no command of this test prints bytes')),
    readSecret: async () => '',
    openInput: () => Readable.from([]),
    lowerPriority: () => undefined,
    printError: (text) => {
      texts.stderr += text
    },
  })
  return { status, ...texts }
}

/** The answer of a command with `--json`. */
export async function runForJson(where: Installation, ...words: readonly string[]): Promise<LogLine> {
  const { stdout, stderr } = await runInProcess(where, ...words, '--json')
  if (stdout === '') throw new Error(`posthorn ${words.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as LogLine
}

export async function waitForExit(child: ChildProcess): Promise<ProgramResult> {
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString()
    })
  }
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, ...texts }
}

interface ServeOptions {
  /** A program to run it under, with its arguments. */
  readonly under?: readonly string[]
  /** Milliseconds that clients and attempts get at shutdown, instead of the program's. */
  readonly patience?: { readonly listeners: number; readonly delivery: number }
  /** The compiled main file of another build. */
  readonly program?: string
}

/** Resolves once it serves; killed when the test ends. */
export async function serve(t: Test, { file }: Installation, options: ServeOptions = {}): Promise<Daemon> {
  const { under = [], patience, program: started = main } = options
  const begun =
    patience === undefined ? [started, 'serve', '--config', file] : [impatient, file, JSON.stringify(patience)]
  const [program = '', ...words] = [...under, 'env', ...plainNode(...begun)]
  // A process group of its own: the program that it runs under ends with it.
  const child = spawn(program, words, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const pid = child.pid ?? 0
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  const signal = (name: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, name)
  }
  t.teardown(async () => {
    signal('SIGKILL')
    await ended
  })
  const { log, waitForLog } = followLog(child, ended)
  const serving = await waitForLog(({ msg }) => msg === 'serving')
  const [port = 0, tlsPort = 0] = (serving['submission'] as readonly string[]).map(portOf)
  const [mxPort = 0] = (serving['mx'] as readonly string[]).map(portOf)
  const [apiPort = 0] = (serving['api'] as readonly string[]).map(portOf)
  return { port, tlsPort, mxPort, apiPort, pid, log, waitForLog, signal, ended }
}

function portOf(listening: string): number {
  return Number(/:(\d+)/.exec(listening)?.[1])
}

/** One listener for all who wait: each of them having its own exceeds what Node.js takes for a leak. */
function followLog(child: ChildProcess, ended: Promise<unknown>): Pick<Daemon, 'log' | 'waitForLog'> {
  if (child.stdout === null) throw new Error('no standard output')
  const log: LogLine[] = []
  const checks = new Set<() => void>()
  let hasEnded = false
  const checkAll = (): void => {
    for (const check of checks) check()
  }
  createInterface(child.stdout).on('line', (line) => {
    log.push(JSON.parse(line) as LogLine)
    checkAll()
  })
  void ended.then(() => {
    hasEnded = true
    checkAll()
  })
  const waitForLog: Daemon['waitForLog'] = (fits) =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = log.find(fits)
        if (found === undefined && !hasEnded) return
        checks.delete(check)
        if (found === undefined) reject(new Error(`it ended without saying that: ${JSON.stringify(log.at(-1))}`))
        else resolve(found)
      }
      checks.add(check)
      check()
    })
  return { log, waitForLog }
}
