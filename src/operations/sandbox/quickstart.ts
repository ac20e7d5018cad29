/**
 * The sandbox: a daemon with an account, a sink that receives its mail, and a sample message through SMTP and REST.
 *
 * The daemon runs in this process, so it cannot outlive the sandbox. The sandbox opens the database for itself, as a
 * command of the command line does. Everything is stopped in reverse order, because the daemon's last attempts need
 * the sink.
 */

import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { destination, pino } from 'pino'
import type { Config } from '../../base/config/complete.js'
import { type LoadedConfig, loadConfig } from '../../base/config/load.js'
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { AddressHider } from '../../base/platform/log-privacy.js'
import { LogTail } from '../../base/platform/log-tail.js'
import { ownValueOf } from '../../base/platform/records.js'
import { loadTlsFiles, type TlsFiles } from '../../base/platform/tls-files.js'
import { lockDataFolder } from '../../base/storage/db/data-lock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { databaseFile, openDatabase } from '../../base/storage/open.js'
import { publishDaemon, type ReloadListener } from '../cli/command/daemon-reloads.js'
import { createReloader } from '../cli/command/reloader.js'
import { SystemdNotices } from '../cli/command/systemd-notices.js'
import { type Daemon, startDaemon } from '../daemon/daemon.js'
import { ensureAccount } from './account.js'
import { CannotStart } from './cannot-start.js'
import { configure, type SandboxConfig } from './configuration.js'
import { publishedKeyFinder, verifyDkimSignature } from './dkim-verdict.js'
import { refuseBusyPorts } from './free-ports.js'
import { DOMAIN, type SandboxPaths, sandboxPaths } from './paths.js'
import { type SubmissionServer, submitBySmtp, throwDiskFull, waitUntilSettled } from './sample.js'
import { prepareSignIn, type SandboxSignIn } from './sign-in.js'
import { openSink } from './sink.js'
import { arrivalLine, guideText, type Sample, sampleLines, screenLines } from './terminal-text.js'

interface QuickstartOptions {
  readonly folder: string
  /** Null if it uses the ports of the existing configuration, or else the default ones. */
  readonly portBase: number | null
  readonly clock: Clock
  readonly print: (line: string) => void
  /** Ends the sandbox. */
  readonly signal: AbortSignal
  /** When `posthorn reload` asks for it. */
  readonly reloads: ReloadListener
}

/** Resolves when the sandbox has ended; rejects if it cannot start, with nothing left open. */
export async function quickstart(options: QuickstartOptions): Promise<void> {
  const paths = sandboxPaths(options.folder)
  await mkdir(paths.folder, { recursive: true, mode: 0o700 })
  // The configuration of a running sandbox must not change.
  lockDataFolder(paths.folder).release()
  const configured = await configure(paths, options.portBase)
  const { api, submission, inbound } = configured.config
  const apiAddresses = api.listen.filter((listen) => listen.kind !== 'unix')
  await refuseBusyPorts([
    ...submission.listen,
    ...submission.listen_tls,
    ...inbound.listen,
    ...apiAddresses,
    configured.sink,
  ])
  const stopSteps: (() => Promise<void>)[] = []
  try {
    const started = await startSandbox(options, paths, configured, stopSteps)
    await runDemo(options, started)
    await waitForAbort(options.signal)
  } finally {
    for (const stop of stopSteps.reverse()) await stop()
  }
}

interface RunningSandbox {
  readonly paths: SandboxPaths
  readonly configured: SandboxConfig
  readonly tls: TlsFiles
  readonly key: string
  readonly signIn: SandboxSignIn
  readonly read: Read
}

async function startSandbox(
  { clock, print, reloads }: QuickstartOptions,
  paths: SandboxPaths,
  configured: SandboxConfig,
  stopSteps: (() => Promise<void>)[],
): Promise<RunningSandbox> {
  const { config, sink: listen } = configured
  const database = await openDatabase({ file: databaseFile(config.service.data_dir) })
  stopSteps.push(database.close)
  const { read } = database
  const { key, workspaceId } = await ensureAccount(database, paths.key, clock())
  const signIn = await prepareSignIn(database, workspaceId, config.service.public_url, clock())
  // It is self-signed and stored, so that the daemon finds the same pair.
  const pair = await loadTlsFiles(null, { folder: paths.tls, hostname: config.service.hostname, now: clock() })
  const keys = publishedKeyFinder(read)
  const sink = await openSink({
    listen,
    tls: pair,
    folder: paths.sink,
    verifyDkim: (raw, now) => verifyDkimSignature(raw, keys, now),
    clock,
    onArrival: (arrival) => print(arrivalLine(arrival)),
  })
  stopSteps.push(sink.stop)
  const logTail = new LogTail()
  const addressHider = new AddressHider(config.log.hash_local_parts)
  const log = openLogFile(paths.log, config, clock, { tail: logTail, hider: addressHider })
  const daemon = await startDaemon({ config, clock, log, logTail, addressHider })
  stopSteps.push(daemon.stop)
  answerReloads(daemon, { configured, paths, log, reloads })
  return { paths, configured, tls: daemon.tls, key, signIn, read }
}

interface ReloadParts extends Pick<QuickstartOptions, 'reloads'>, Pick<RunningSandbox, 'configured' | 'paths'> {
  readonly log: Log
}

function answerReloads(daemon: Daemon, { configured, paths, log, reloads }: ReloadParts): void {
  const reloading = publishDaemon(configured, log, () => undefined)
  const systemd = new SystemdNotices({}, log)
  const reload = (): LoadedConfig => loadConfig({ file: paths.configuration, env: {} })
  reloads.use(createReloader({ ...reloading, log, daemon, reload, systemd }))
}

async function runDemo(options: QuickstartOptions, started: RunningSandbox): Promise<void> {
  const { configured, tls, key, signIn, paths } = started
  const client = { ca: tls.cert, key }
  const bySmtp = await sendSample(options, started, 'SMTP (STARTTLS, AUTH)', () =>
    submitBySmtp({ ...client, listen: configured.startTls }),
  )
  if (options.signal.aborted) return
  const byRest = await sendSample(options, started, 'REST (HTTPS, POST /v1/emails)', () =>
    submitByRest({ ...client, listen: configured.api }),
  )
  if (options.signal.aborted) return
  // The `node` of the person's PATH may be too old.
  const program = ['../../../../scripts/node', '../../main.js'].map(pathFromHere)
  const guide = { paths, configured, key, signIn, caFile: tls.caFile, program, samples: [bySmtp, byRest] }
  await writeFile(paths.guide, guideText(guide), { mode: 0o600 })
  for (const line of screenLines(guide)) options.print(line)
}

/** Sends a sample, and returns it once it is delivered, or when the sandbox is to end. */
async function sendSample(
  { clock, print, signal }: QuickstartOptions,
  { read, paths }: RunningSandbox,
  interfaceName: string,
  submit: () => Promise<string>,
): Promise<Sample> {
  const story = await waitUntilSettled(read, await submit(), clock, signal)
  if (signal.aborted || story.status === 'delivered') return { interfaceName, story }
  for (const line of sampleLines({ interfaceName, story })) print(line)
  throw new CannotStart(`the sample over ${interfaceName} did not get through, ${paths.log} may say why`)
}

interface LogOutputs {
  readonly tail: LogTail
  readonly hider: AddressHider
}

/** The log goes to a file; the terminal shows arrivals and the guide. */
function openLogFile(file: string, { log }: Config, clock: Clock, { tail, hider }: LogOutputs): Log {
  const out = destination({ dest: file, mode: 0o600, sync: true })
  const write = (written: string): void => {
    const line = hider.hide(written)
    tail.write(line)
    out.write(line)
  }
  const pinoOptions = { level: log.level, base: null, timestamp: () => `,"time":"${formatTimestamp(clock())}"` }
  return pino(pinoOptions, { write })
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function pathFromHere(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}

/**
 * Submits a sample message over REST the way an HTTPS client does: a verified certificate, the key in a header field, a
 * JSON body.
 *
 * Returns the id of the email.
 */
async function submitByRest(endpoint: SubmissionServer): Promise<string> {
  const { status, body } = await post(endpoint, {
    from: { name: 'Posthorn', address: `quickstart@${DOMAIN}` },
    to: `you@${DOMAIN}`,
    subject: 'REST works',
    text: 'You submitted this message as JSON. Posthorn composed it, queued it, signed it and delivered it to the sink.\n',
    html: '<p>You submitted this message as <b>JSON</b>. Posthorn composed it, queued it, signed it and delivered it to the sink.</p>',
  })
  if (status === 503) throwDiskFull()
  const id = status === 201 ? parseId(body) : null
  if (id === null) throw new CannotStart(`the sample by REST was answered ${status}: ${body}`)
  return id
}

async function post({ listen, ca, key }: SubmissionServer, email: object): Promise<{ status: number; body: string }> {
  const clientRequest = request({
    ...listen,
    path: '/v1/emails',
    method: 'POST',
    ca,
    servername: `mail.${DOMAIN}`,
    // No connection is kept, because the stopping daemon would wait for it.
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  clientRequest.end(JSON.stringify(email))
  const answer: IncomingMessage = (await once(clientRequest, 'response'))[0]
  return { status: answer.statusCode ?? 0, body: await text(answer) }
}

function parseId(body: string): string | null {
  const id = ownValueOf(JSON.parse(body), 'id')
  return typeof id === 'string' ? id : null
}
