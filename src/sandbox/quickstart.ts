/**
 * The sandbox: a daemon with somebody to send as, a sink to send to, and a message through
 * each door that went all the way.
 *
 * The daemon runs in this process, so that it can never be left behind. Beside it the
 * sandbox has the database open for itself, as a command of the command line would.
 * What was started is ended in the opposite order: the daemon's last attempts need the sink.
 */
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { destination, pino } from 'pino'
import type { Config } from '../config/complete.js'
import { startDaemon } from '../daemon/daemon.js'
import { type Clock, formatTimestamp } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { loadTlsFiles, type TlsFiles } from '../platform/tls-files.js'
import { lockDataFolder } from '../storage/data-lock.js'
import { databaseFile, openDatabase } from '../storage/open.js'
import type { Read } from '../storage/prepared.js'
import { ensureAccount } from './account.js'
import { CannotStart } from './cannot-start.js'
import { configure, type SandboxConfig } from './configuration.js'
import { publishedKeyFinder, verifyDkimSignature } from './dkim-verdict.js'
import { refuseBusyPorts } from './free-ports.js'
import { type SandboxPaths, sandboxPaths } from './paths.js'
import { submitByRest } from './rest-sample.js'
import { submitBySmtp, waitUntilSettled } from './sample.js'
import { openSink } from './sink.js'
import { arrivalLine, guideLines, storyLines } from './terminal-text.js'

export interface QuickstartParts {
  readonly folder: string
  /** Null: the ports of the configuration that is there, or the default ones. */
  readonly portBase: number | null
  readonly clock: Clock
  readonly print: (line: string) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

/** Resolves once it was ended; rejects when it cannot start, with nothing left open. */
export async function quickstart(parts: QuickstartParts): Promise<void> {
  const places = sandboxPaths(parts.folder)
  await mkdir(places.folder, { recursive: true, mode: 0o700 })
  // A sandbox that runs keeps its configuration.
  lockDataFolder(places.folder).release()
  const configured = await configure(places, parts.portBase)
  const { api, submission, inbound } = configured.config
  const doors = api.listen.filter((listen) => listen.kind !== 'unix')
  await refuseBusyPorts([...submission.listen, ...submission.listen_tls, ...inbound.listen, ...doors, configured.sink])
  const ends: (() => Promise<void>)[] = []
  try {
    const started = await startSandbox(parts, places, configured, ends)
    await runDemo(parts, started)
    await waitForAbort(parts.signal)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

interface RunningSandbox {
  readonly paths: SandboxPaths
  readonly configured: SandboxConfig
  readonly tls: TlsFiles
  readonly key: string
  readonly read: Read
}

async function startSandbox(
  { clock, print }: QuickstartParts,
  paths: SandboxPaths,
  configured: SandboxConfig,
  ends: (() => Promise<void>)[],
): Promise<RunningSandbox> {
  const { config, sink: listen } = configured
  const database = await openDatabase({ file: databaseFile(config.service.data_dir) })
  ends.push(database.close)
  const { read } = database
  const { key } = await ensureAccount(database, paths.key, clock())
  // Self-signed and made once: the daemon finds the same pair.
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
  ends.push(sink.stop)
  const daemon = await startDaemon({ config, clock, log: openLogFile(paths.log, config, clock) })
  ends.push(daemon.stop)
  return { paths, configured, tls: daemon.tls, key, read }
}

async function runDemo(parts: QuickstartParts, started: RunningSandbox): Promise<void> {
  const { configured, tls, key, paths } = started
  const door = { ca: tls.cert, key }
  await sendSample(parts, started, 'SMTP (STARTTLS, AUTH)', () =>
    submitBySmtp({ ...door, listen: configured.startTls }),
  )
  if (parts.signal.aborted) return
  const emailId = await sendSample(parts, started, 'REST (HTTPS, POST /v1/emails)', () =>
    submitByRest({ ...door, listen: configured.api }),
  )
  if (parts.signal.aborted) return
  const program = fileURLToPath(new URL('../main.js', import.meta.url))
  for (const line of guideLines({ paths, configured, key, caFile: tls.caFile, program, emailId })) parts.print(line)
}

/** Sends a sample and tells what became of it; gives its id. */
async function sendSample(
  { clock, print, signal }: QuickstartParts,
  { read, paths }: RunningSandbox,
  door: string,
  submit: () => Promise<string>,
): Promise<string> {
  const emailId = await submit()
  const story = await waitUntilSettled(read, emailId, clock, signal)
  if (signal.aborted) return emailId
  for (const line of storyLines(door, story)) print(line)
  if (story.status === 'delivered') return emailId
  throw new CannotStart(`the sample over ${door} did not get through, ${paths.log} may say why`)
}

/** The terminal is for what the user wants to see. */
function openLogFile(file: string, { log }: Config, clock: Clock): Log {
  const options = { level: log.level, base: null, timestamp: () => `,"time":"${formatTimestamp(clock())}"` }
  return pino(options, destination({ dest: file, mode: 0o600, sync: true }))
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
