/**
 * A PostgreSQL server of Debian in a folder of its own, on a port of loopback and on a socket in that folder.
 *
 * Its databases sort text by the rules of a language unless a column says otherwise, as those of most installations do.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freePort } from '../free-port.js'

const VERSIONS = '/usr/lib/postgresql'

/** The `skip` option of a test that needs the server. */
export const withoutPostgres = existsSync(VERSIONS) ? false : 'postgresql is not installed'

/** Without them a crash of the machine loses data, and tests are several times faster. */
const unsafe = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off']

export interface PostgresOptions {
  /** An empty or missing folder. */
  readonly folder: string
  /** Writes are synced, for what measures or proves durability. */
  readonly isDurable?: boolean
  /** Any free one where it is absent. */
  readonly port?: number
  /** Further settings such as `ssl=on`. */
  readonly settings?: readonly string[]
}

/** How the server is asked to end: `fast` closes connections, and `immediate` is as a crash. */
type StopMode = 'fast' | 'immediate'

export class PostgresServer {
  private isFrozen = false

  private constructor(
    readonly port: number,
    private readonly options: PostgresOptions,
    private server: ReturnType<typeof spawn>,
  ) {}

  static async start(options: PostgresOptions): Promise<PostgresServer> {
    const words = ['--username=postgres', '--auth=trust', '--no-sync', '--encoding=UTF8']
    const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en']
    await runAsOwner('initdb', options.folder, [...words, ...locale, join(options.folder, 'data')])
    return PostgresServer.launch(options)
  }

  /** Starts a server that follows this one, by streaming, until it is promoted. */
  async startStandby(options: PostgresOptions): Promise<PostgresServer> {
    const words = ['--host=127.0.0.1', `--port=${this.port}`, '--username=postgres', '--no-sync', '--checkpoint=fast']
    const target = ['--write-recovery-conf', '--wal-method=stream', `--pgdata=${join(options.folder, 'data')}`]
    await runAsOwner('pg_basebackup', options.folder, [...words, ...target])
    return PostgresServer.launch(options)
  }

  private static async launch(options: PostgresOptions): Promise<PostgresServer> {
    const port = options.port ?? (await freePort())
    return new PostgresServer(port, options, await launch(options, port))
  }

  /** The folder with its data and its socket. */
  get folder(): string {
    return this.options.folder
  }

  /** The address of a database, for the superuser. */
  urlOf(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  /** The process id of the server, whose children serve the connections. */
  get pid(): number {
    return this.server.pid ?? 0
  }

  get isRunning(): boolean {
    return this.server.exitCode === null && this.server.signalCode === null
  }

  /** Makes an empty database. */
  async createDatabase(name: string): Promise<void> {
    await this.run(`create database ${name}`)
  }

  /** Makes a standby a server that takes writes. */
  async promote(): Promise<void> {
    await this.run('select pg_promote()')
  }

  /** Runs a statement as the superuser. Its rows are returned. */
  async run(sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.urlOf() })
    await client.connect()
    try {
      const { rows } = await client.query<Record<string, unknown>>(sql)
      return rows
    } finally {
      await client.end()
    }
  }

  async stop(mode: StopMode = 'fast'): Promise<void> {
    if (!this.isRunning) return
    const ended = once(this.server, 'exit')
    this.server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    this.thaw()
    await ended
  }

  /** Its processes do nothing from now on, and say nothing, as if its machine were gone. `thaw` lets them go on. */
  freeze(): void {
    this.isFrozen = true
    // The server is the first, so that it makes no more processes.
    process.kill(this.pid, 'SIGSTOP')
    for (const child of this.childPids()) process.kill(child, 'SIGSTOP')
  }

  thaw(): void {
    if (!this.isFrozen) return
    this.isFrozen = false
    for (const child of this.childPids()) process.kill(child, 'SIGCONT')
    process.kill(this.pid, 'SIGCONT')
  }

  private childPids(): readonly number[] {
    return readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'latin1').trim().split(' ').map(Number)
  }

  /** Starts it again with its data and its port. */
  async restart(): Promise<void> {
    await this.stop()
    this.server = await launch(this.options, this.port)
  }
}

async function launch(
  { folder, isDurable = false, settings = [] }: PostgresOptions,
  port: number,
): Promise<ReturnType<typeof spawn>> {
  const sized = ['shared_buffers=64MB', 'max_connections=500', `unix_socket_directories=${folder}`, `port=${port}`]
  const all = ['listen_addresses=127.0.0.1', ...sized, ...(isDurable ? [] : unsafe), ...settings]
  const words = ['-D', join(folder, 'data'), ...all.flatMap((setting) => ['-c', setting])]
  const server = spawn(programOf('postgres'), words, {
    ...ownerOfServers(),
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LC_MESSAGES: 'C' },
  })
  const said: string[] = []
  for await (const line of createInterface({ input: server.stderr })) {
    said.push(line)
    if (line.includes('database system is ready to accept')) break
  }
  server.stderr.resume()
  if (server.exitCode !== null) throw new Error(`postgres ended: ${said.join('\n')}`)
  return server
}

async function runAsOwner(program: string, folder: string, words: readonly string[]): Promise<void> {
  const owner = ownerOfServers()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (owner !== null) {
    chownSync(folder, owner.uid, owner.gid)
    openWayTo(folder)
  }
  await promisify(execFile)(programOf(program), words, { ...owner, cwd: '/' })
}

/** Lets every user pass through the folders above, which are those of tests. */
function openWayTo(folder: string): void {
  const parent = dirname(folder)
  if (parent === folder) return
  const { mode } = statSync(parent)
  if ((mode & 0o001) === 0) chmodSync(parent, (mode & 0o777) | 0o001)
  openWayTo(parent)
}

/** The program of the newest version that is installed. */
function programOf(name: string): string {
  const [version = ''] = readdirSync(VERSIONS).sort((one, other) => Number(other) - Number(one))
  return join(VERSIONS, version, 'bin', name)
}

/** The server refuses to run as root. */
function ownerOfServers(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const [, , uid, gid] = /^postgres:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0].split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}
