/**
 * What a command of the command line is, and what it is given.
 *
 * A command returns what it has to say, twice: as a value for `--json`, and as lines for
 * people. It never writes to standard output itself. Refusals become one line on standard
 * error and exit status 1; a `UsageError` shows the usage and exits with 2.
 */
import type { Config } from '../config/complete.js'
import type { Clock } from '../platform/clock.js'
import type { Database } from '../storage/database.js'

export class UsageError extends Error {
  override name = 'UsageError'
}

/** Something could not be done, for a reason that is not the caller's syntax. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

export interface Answer {
  readonly json: unknown
  readonly lines: readonly string[]
  /** Done, but with a result that scripts must notice. */
  readonly failed?: boolean
  /** A temporary file that is printed instead of lines, and removed. */
  readonly file?: string
  /** Told on standard error: what was done may not be what was meant. */
  readonly warnings?: readonly string[]
}

export type OptionValues = Readonly<Record<string, string | boolean | undefined>>

export interface Call {
  /** What stands after the names of the command. */
  readonly words: readonly string[]
  readonly options: OptionValues
  readonly config: Config
  readonly clock: Clock
  /** Opens the database, making it where it is not there. Closed after the command. */
  readonly database: () => Promise<Database>
  /** One line that no argument may hold. `prompt`: what it is, where a person is asked. */
  readonly readSecret: (prompt: string) => Promise<string>
}

export interface Command {
  /** As typed: `key create`. */
  readonly name: string
  /** What follows the name: `NAME [--force]`. */
  readonly usage: string
  readonly summary: string
  /** Options of its own, beside `--config` and `--json`. */
  readonly options: Readonly<Record<string, 'string' | 'boolean'>>
  /** It ends when the running daemon has taken note of what it changed. */
  readonly awaitsNotice?: true
  readonly run: (call: Call) => Promise<Answer>
}

export function textOption(options: OptionValues, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

export function requiredOption(options: OptionValues, name: string): string {
  const value = textOption(options, name)
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing`)
  return value
}

export function flagOption(options: OptionValues, name: string): boolean {
  return options[name] === true
}

export function requiredWord(words: readonly string[], index: number, what: string): string {
  const value = words[index]
  if (value === undefined) throw new UsageError(`${what} is missing`)
  return value
}

/** No more than `count` words: a mistyped option must not be passed over. */
export function refuseExtraWords(words: readonly string[], count: number): void {
  if (words.length > count) throw new UsageError(`unexpected: ${words.slice(count).join(' ')}`)
}
