/**
 * The whole daemon on free ports, with a workspace, its key and a verified domain, on loopback only.
 *
 *     const sink = await openSink()
 *     const app = await testDaemon(t, { routes: { 'b.test': sink } })
 *     const id = await app.accepted({ to: ['bob@b.test'] })
 *     await app.settled(id)
 *
 * Names are answered from a literal zone; a routed domain gets its host in it. The clock is the real one, moved by
 * `advance`. The command line runs in this process (`cli`).
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pino } from 'pino'
import { stringify } from 'smol-toml'
import type { Test } from 'tap'
import type { Config } from '../../../src/base/config/complete.js'
import { parseConfig } from '../../../src/base/config/load.js'
import { systemClock } from '../../../src/base/platform/clock.js'
import { createDialer } from '../../../src/base/platform/dialer.js'
import { logOptions } from '../../../src/base/platform/log.js'
import { AddressHider } from '../../../src/base/platform/log-privacy.js'
import { LogTail } from '../../../src/base/platform/log-tail.js'
import { run } from '../../../src/operations/cli/run.js'
import { type Daemon, startDaemon } from '../../../src/operations/daemon/daemon.js'
import type { UpgradeSettings } from '../../../src/operations/upkeep/database-upgrade.js'
import { defaultTimeouts, type Timeouts } from '../../../src/outbound/delivery/smtp/timeouts.js'
import { detailsOfAnyWorkspace, type EmailDetails } from '../../../src/records/messages/email-details.js'
import { findStorageUrl, prepareSeed, withPlainStatements } from '../database/daemon-database.js'
import { temporaryFolder } from '../database/database.js'
import { copySeed } from '../database/seed-data.js'
import { type Zone, zoneResolver } from '../dns/zone-resolver.js'
import { type RestAnswer, type RestRequest, restClient } from '../http/rest-client.js'
import { type Dialogue, dial } from '../smtp/smtp-dialogue.js'
import { waitUntil } from '../wait-until.js'

type Settings = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export interface TestDaemonOptions {
  /** Domain to sink: a route of the configuration. */
  readonly routes?: Readonly<Record<string, { readonly port: number }>>
  /** `dns.servers`: names are resolved by the servers of the settings. */
  readonly zone?: Zone | 'dns.servers'
  /** Sections of the configuration, beside those that each test needs. */
  readonly settings?: Settings
  readonly timeouts?: Partial<Timeouts>
  /** PEM certificates that are trusted instead of the machine's. */
  readonly authorities?: string
  /** Of the hosts of MTA-STS policies. */
  readonly policyPort?: number
  readonly stopTimeouts?: { readonly listeners: number; readonly delivery: number }
  /** The folder of a daemon that was stopped. */
  readonly folder?: string
  /** What is logged beside errors, into `lines`; default: nothing. */
  readonly level?: 'debug' | 'info'
  /** The files of the dashboard. Default: where the build puts them. */
  readonly uiFolder?: string
  /** Milliseconds that the clock is ahead from the start. */
  readonly ahead?: number
  readonly upgrade?: UpgradeSettings
}

export interface Submission {
  readonly from?: string
  readonly to?: readonly string[]
  /** Parameters of MAIL and RCPT, with a space before each. */
  readonly mailParameters?: string
  readonly rcptParameters?: string
  /** Header lines beside From, To and Subject. */
  readonly fields?: readonly string[]
  /** The complete message, ending with CRLF, instead of a generated one. */
  readonly raw?: string
  readonly key?: string
}

export interface CommandResult {
  readonly status: number
  readonly out: string
  readonly err: string
  /** The output of `--json`, parsed. */
  readonly json: () => unknown
}

export interface TestDaemon {
  readonly daemon: Daemon
  readonly folder: string
  readonly config: Config
  /** For another process beside the daemon. */
  readonly configFile: string
  readonly key: string
  readonly otherKey: string
  readonly workspaceId: string
  readonly otherWorkspaceId: string
  /** What was logged as an error. */
  readonly errors: readonly string[]
  /** All log lines, as they were written. */
  readonly lines: readonly string[]
  readonly now: () => number
  readonly advance: (milliseconds: number) => void
  /** An SMTP session in which `key` has authenticated. */
  readonly openSession: (key?: string) => Promise<Dialogue>
  /** The reply to the end of DATA, or to the command that was refused before. */
  readonly submit: (submission?: Submission) => Promise<string>
  /** Submits an email and returns its id. Throws when it is refused. */
  readonly submitAccepted: (submission?: Submission) => Promise<string>
  readonly findStory: (id: string) => Promise<EmailDetails>
  /** Waits until no recipient is queued or scheduled. */
  readonly waitUntilSettled: (id: string) => Promise<EmailDetails>
  /** Waits until each recipient was attempted. */
  readonly waitUntilAttempted: (id: string) => Promise<EmailDetails>
  readonly rows: <Row>(sql: string, ...parameters: readonly unknown[]) => Promise<Row[]>
  /** A request over verified TLS, with `key`. */
  readonly rest: (method: string, path: string, request?: RestRequest) => Promise<RestAnswer>
  readonly cli: (...argv: readonly string[]) => Promise<CommandResult>
  readonly stop: () => Promise<void>
}

/** A log line of pino. */
const ERROR = 50

const queuedReply = /^250 2\.0\.0 Ok: queued as ([0-9a-f-]{36})$/

export async function testDaemon(t: Test, options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const folder = options.folder ?? temporaryFolder(t)
  const url = await findStorageUrl(t, folder)
  const { file: configFile, config } = writeConfiguration(folder, options, url)
  const founded = options.folder === undefined ? await prepareSeed(config) : await copySeed(null)
  const lines: string[] = []
  const errors: string[] = []
  const logTail = new LogTail()
  const addressHider = new AddressHider(config.log.hash_local_parts)
  const write = (written: string): void => {
    const line = addressHider.hide(written)
    lines.push(line)
    logTail.write(line)
    if ((JSON.parse(line) as { readonly level: number }).level >= ERROR) errors.push(line)
  }
  let ahead = options.ahead ?? 0
  const now = (): number => systemClock() + ahead
  const started = await startDaemon({
    config,
    clock: now,
    log: pino({ ...logOptions, level: options.level ?? 'error' }, { write }),
    logTail,
    addressHider,
    edges: {
      resolver: options.zone === 'dns.servers' ? null : zoneResolver({ ...routeHosts(options), ...options.zone }),
      timeouts: { ...defaultTimeouts, ...options.timeouts },
      dialer: createDialer(options.authorities),
      authorities: options.authorities,
      policyPort: options.policyPort ?? 443,
    },
    stopTimeouts: options.stopTimeouts ?? { listeners: 100, delivery: 100 },
    uiFolder: options.uiFolder,
    upgrade: options.upgrade,
  })
  const daemon = { ...started, database: await withPlainStatements(started.database) }
  t.teardown(() => daemon.stop())
  const { read } = daemon.database
  const findStory = async (id: string): Promise<EmailDetails> =>
    (await detailsOfAnyWorkspace(read, id)) ?? fail(`no email ${id}`)
  const openSession = (key = founded.key): Promise<Dialogue> => login(t, daemon, key)
  const submit = async (submission: Submission = {}): Promise<string> =>
    submitMessage(await openSession(submission.key), submission)
  return {
    daemon,
    folder,
    config,
    configFile,
    ...founded,
    errors,
    lines,
    now,
    advance: (milliseconds) => {
      ahead += milliseconds
    },
    openSession,
    submit,
    submitAccepted: async (submission) => {
      const reply = await submit(submission)
      return queuedReply.exec(reply)?.[1] ?? fail(`refused: ${reply}`)
    },
    findStory,
    waitUntilSettled: (id) =>
      waitUntil(`${id} is settled`, async () => {
        const found = await findStory(id)
        return found.recipients.every(({ status }) => status !== 'queued' && status !== 'scheduled') && found
      }),
    waitUntilAttempted: (id) =>
      waitUntil(`${id} is attempted`, async () => {
        const found = await findStory(id)
        return (
          found.recipients.every(
            (recipient) => recipient.last_response !== null || recipient.status === 'suppressed',
          ) && found
        )
      }),
    rows: async (sql, ...parameters) => read(sql, parameters),
    rest: restClient(t, daemon, founded.key),
    cli: (...argv) => runCommand([...argv, '--config', configFile]),
    stop: () => daemon.stop(),
  }
}

function fail(message: string): never {
  throw new Error(message)
}

/** The configuration of a test daemon, which is also written into its folder. */
export function writeConfiguration(
  folder: string,
  options: TestDaemonOptions,
  url: string | null = null,
): { file: string; config: Config } {
  const { submission, outbound, ...others } = options.settings ?? {}
  const routes = Object.entries(options.routes ?? {}).map(([domain, { port }]) => [domain, `${hostOf(domain)}:${port}`])
  const text = stringify({
    service: { hostname: 'mail.service.test', data_dir: join(folder, 'data'), ...others['service'] },
    submission: {
      listen: ['127.0.0.1:0'],
      listen_tls: ['127.0.0.1:0'],
      allow_plaintext_loopback: true,
      ...submission,
    },
    api: { listen: ['127.0.0.1:0'], ...others['api'] },
    inbound: { listen: ['127.0.0.1:0'], ...others['inbound'] },
    outbound: { allowed_private_networks: ['127.0.0.0/8'], ...outbound, routes: Object.fromEntries(routes) },
    log: { level: 'silent' },
    ...(url === null ? {} : { storage: { url } }),
    ...Object.fromEntries(Object.entries(others).filter(([name]) => !['service', 'api', 'inbound'].includes(name))),
  })
  const file = join(folder, 'posthorn.toml')
  writeFileSync(file, text)
  const loaded = parseConfig(text, file, { hostname: 'test', home: folder, isRoot: false, stateHome: undefined })
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  return { file, config: loaded.config }
}

function routeHosts({ routes = {} }: TestDaemonOptions): Zone {
  return Object.fromEntries(Object.keys(routes).map((domain) => [hostOf(domain), { addresses: ['127.0.0.1'] }]))
}

function hostOf(domain: string): string {
  return domain === '*' ? 'smarthost.test' : `mx.${domain}`
}

export function authPlain(key: string): string {
  return `AUTH PLAIN ${Buffer.from(`\0app\0${key}`).toString('base64')}`
}

async function login(t: Test, daemon: Daemon, key: string): Promise<Dialogue> {
  const endpoint = daemon.submission.find(({ tls }) => !tls) ?? fail('no submission port')
  const client = await dial(endpoint.port)
  t.teardown(() => client.end())
  await client.readReply()
  await client.sendCommand('EHLO app.test')
  const reply = await client.sendCommand(authPlain(key))
  if (!reply.startsWith('235')) fail(`not let in: ${reply}`)
  return client
}

/** One transaction; the reply to the last command that was sent. */
export async function submitMessage(client: Dialogue, submission: Submission): Promise<string> {
  const { from = 'app@a.test', to = ['bob@b.test'], mailParameters = '', rcptParameters = '' } = submission
  let reply = await client.sendCommand(`MAIL FROM:<${from}>${mailParameters}`)
  for (const address of to) {
    if (!reply.startsWith('250')) return reply
    reply = await client.sendCommand(`RCPT TO:<${address}>${rcptParameters}`)
  }
  if (!reply.startsWith('250')) return reply
  reply = await client.sendCommand('DATA')
  if (!reply.startsWith('354')) return reply
  return client.sendCommand(`${(submission.raw ?? messageText(submission)).replace(/^\./gm, '..')}.`)
}

export function messageText({ from = 'app@a.test', to = ['bob@b.test'], fields = [] }: Submission): string {
  const header = [`From: App <${from}>`, `To: ${to.join(', ')}`, 'Subject: hello', ...fields]
  return [...header, '', 'a line', ''].join('\r\n')
}

/** A command in this process, with an empty environment. */
/** `input` is what the command reads from standard input, also as a secret. */
export async function runCommand(argv: readonly string[], input = ''): Promise<CommandResult> {
  const out: string[] = []
  const err: string[] = []
  const status = await run({
    argv,
    env: {},
    print: (text) => out.push(text),
    printBytes: async (bytes) => void out.push((await buffer(bytes)).toString('latin1')),
    printError: (text) => err.push(text),
    readSecret: async () => input,
    openInput: () => Readable.from([Buffer.from(input)]),
    lowerPriority: () => undefined,
  })
  const text = out.join('')
  return { status, out: text, err: err.join(''), json: () => JSON.parse(text) as unknown }
}
