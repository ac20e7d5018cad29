/**
 * Log lines on standard output, each a JSON object, or text for people.
 *
 * Message bodies, keys, passwords and codes are never logged; callers pass ids and replies. Every time in a
 * line is an ISO 8601 text in UTC.
 */
import { fstatSync } from 'node:fs'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { errorCodeOf, PlainFault } from './errors.js'
import type { LogLevel } from './log-levels.js'

export type Log = Logger

export interface LogSettings {
  readonly level: LogLevel
  readonly format: 'json' | 'pretty'
}

/** The fields of every line. */
export const logOptions = {
  base: null,
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  serializers: { err: describeError },
}

function describeError(error: Error): object {
  if (!(error instanceof PlainFault)) return pino.stdSerializers.err(error)
  const code = errorCodeOf(error)
  return { type: error.name, message: error.message, ...(code === '' ? {} : { code }) }
}

interface LogOutput {
  /** Standard output goes to systemd's journal, so each line begins with its priority. */
  readonly journal?: boolean
  /** Gets each line as JSON, as it is written. */
  readonly tail?: (line: string) => void
  /** Changes each line before it is written. All lines pass here. */
  readonly hide?: (line: string) => string
}

export function openLog(settings: LogSettings, output: LogOutput = {}): Log {
  return createLog(destination({ dest: 1, sync: true }), settings, output)
}

export function createLog(
  out: DestinationStream,
  { level, format }: LogSettings,
  { journal = false, tail, hide = (line) => line }: LogOutput,
): Log {
  const options = { ...logOptions, level }
  const form = (written: string): string => {
    const line = escapeControls(hide(written))
    tail?.(line)
    return format === 'pretty' ? formatPretty(line) : line
  }
  if (!journal) return pino(options, { write: (line) => out.write(form(line)) })
  const prefixed = {
    // If this symbol is set, pino sets `lastLevel` before each line.
    [pino.symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write: (line: string): void => out.write(`<${priorityOf(prefixed.lastLevel)}>${form(line)}`),
  }
  return pino(options, prefixed)
}

/**
 * Whether standard output goes to the journal. `named` is the value of JOURNAL_STREAM: the device and inode of the
 * stream that systemd opened. A redirected process writes elsewhere (systemd.exec(5)).
 */
export function isJournalStream(named: string | undefined, descriptor = 1): boolean {
  const { dev, ino } = fstatSync(descriptor)
  return named === `${dev}:${ino}`
}

/** Syslog priorities of pino's levels, which sd-daemon(3) reads from `<N>` at the start of a line. */
const priorities: readonly (readonly [level: number, priority: number])[] = [
  [60, 2],
  [50, 3],
  [40, 4],
  [30, 6],
  [0, 7],
]

function priorityOf(level: number): number {
  return priorities.find(([least]) => level >= least)?.[1] ?? 7
}

/**
 * Characters that control a terminal, and that JSON does not escape: C1 controls, separators of lines, marks of
 * direction. In JSON they occur in texts alone, so that the escaped line says the same.
 */
const terminalControls = /[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function escapeControls(line: string): string {
  return line.replace(terminalControls, toEscape)
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** `time LEVEL message key=value …` of a JSON line. */
function formatPretty(line: string): string {
  const { time, level, msg, ...rest }: Readonly<Record<string, unknown>> = JSON.parse(line)
  const words = Object.entries(rest).map(([key, value]) => `${key}=${formatValue(value)}`)
  const text = `${String(time)} ${levelName(level)} ${[String(msg ?? ''), ...words].join(' ')}`
  return `${escapeControls(text.replace(/\p{Cc}/gu, toEscape))}\n`
}

function levelName(level: unknown): string {
  return (pino.levels.labels[Number(level)] ?? String(level)).toUpperCase().padEnd(5)
}

function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}
