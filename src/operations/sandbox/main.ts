#!/usr/bin/env node
/**
 * The program behind scripts/quickstart, which checks, installs and builds before.
 *
 * Exit status: 0 ended by SIGINT, SIGTERM, a closed terminal or a closed output, 1 the start failed, 2 wrong usage. An
 * error is one line. SIGHUP reloads the configuration, as `posthorn reload` asks for; it also comes with the end of the
 * terminal.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../base/platform/clock.js'
import { listenForReloads } from '../cli/command/daemon-reloads.js'
import { MAX_BASE } from './paths.js'
import { quickstart } from './quickstart.js'
import { watchTerminal } from './terminal.js'

/**
 * Aborted by the first signal, or when the reader of our output has closed it. A second signal ends the process at
 * once: everything acknowledged is on disk.
 */
function createEndSignal(isTerminalClosed: () => boolean): AbortSignal {
  const ended = new AbortController()
  process.stdout.on('error', () => ended.abort())
  const end = (): void => {
    if (ended.signal.aborted) process.exit(1)
    ended.abort()
  }
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  process.on('SIGHUP', () => {
    if (isTerminalClosed()) end()
  })
  return ended.signal
}

function reportError(error: unknown, status: number): void {
  process.stderr.write(`quickstart: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = status
}

interface Options {
  readonly folder: string
  readonly portBase: number | null
}

function parseOptions(): Options {
  const { values } = parseArgs({ options: { data: { type: 'string' }, 'port-base': { type: 'string' } } })
  const base = values['port-base']
  if (base !== undefined && !(/^\d{1,5}$/.test(base) && Number(base) <= MAX_BASE)) {
    throw new Error(
      `--port-base: found "${base}", allowed: 0 to ${MAX_BASE}; the ports are 587, 465, 443, 25 and 26 above it`,
    )
  }
  return { folder: resolve(values.data ?? 'data'), portBase: base === undefined ? null : Number(base) }
}

async function main(): Promise<void> {
  let options: Options
  try {
    options = parseOptions()
  } catch (error) {
    return reportError(error, 2)
  }
  const isTerminalClosed = watchTerminal()
  const signal = createEndSignal(isTerminalClosed)
  const reloads = listenForReloads(() => !isTerminalClosed())
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  try {
    await quickstart({ ...options, clock: systemClock, print, signal, reloads })
  } catch (error) {
    reportError(error, 1)
  }
}

await main()
