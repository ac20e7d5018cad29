/**
 * Structured log lines on standard output, one JSON object each (or readable ones).
 *
 * Never logged: message bodies, keys, passwords, codes. Callers pass ids and replies.
 */
import { type DestinationStream, destination, type Logger, pino } from 'pino'

export type Log = Logger

export interface LogSettings {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  readonly format: 'json' | 'pretty'
}

/** What every line has beside its own fields. */
export const logOptions = { base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` }

export function openLog({ level, format }: LogSettings): Log {
  const out = destination({ dest: 1, sync: true })
  return pino({ ...logOptions, level }, format === 'pretty' ? readable(out) : out)
}

/** Turns each JSON line into `time LEVEL message key=value …`. */
function readable(out: DestinationStream): DestinationStream {
  return {
    write(line: string): void {
      const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>
      const words = Object.entries(rest).map(([key, value]) => `${key}=${word(value)}`)
      out.write(`${String(time)} ${levelName(level)} ${[String(msg ?? ''), ...words].join(' ')}\n`)
    },
  }
}

function levelName(level: unknown): string {
  return (pino.levels.labels[Number(level)] ?? String(level)).toUpperCase().padEnd(5)
}

function word(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}
