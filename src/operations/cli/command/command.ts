/**
 * The type of commands, and what they are given.
 *
 * A command returns its answer twice: as a value for `--json`, and as lines for people. It never writes to standard
 * output itself. A refusal becomes one line on standard error and exit status 1, a `UsageError` exit status 2.
 */
import type { Config } from '../../../base/config/complete.js'
import type { WrittenConfig } from '../../../base/config/load.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { ShowProgress } from './progress.js'
import type { Terminal } from './screen.js'

export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command failed for another reason than its usage. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

export interface Answer {
  readonly json: unknown
  readonly lines: readonly string[]
  /** The lines are a file in a format of its own, so that nothing may be added to them. */
  readonly isDocument?: true
  /** The exit status is 1: the command ran, but scripts must notice the result. */
  readonly failed?: boolean
  /** The exit status in place of that. */
  readonly status?: number
  /** A temporary file that is printed in place of lines, and removed. */
  readonly file?: string
  /** Bytes that are printed in place of lines. */
  readonly bytes?: readonly Buffer[]
  /** They are printed on standard error: the result may not be what was meant. */
  readonly warnings?: readonly string[]
}

export type OptionValues = Readonly<Record<string, string | boolean | undefined>>

export interface Call {
  /** The arguments after the command's name. */
  readonly words: readonly string[]
  readonly options: OptionValues
  readonly config: Config
  /** What `config` was made from. */
  readonly written: WrittenConfig
  readonly clock: Clock
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Opens the database, or creates it. It is closed after the command. */
  readonly database: () => Promise<Store>
  /** Writes lines to standard output before the command ends. Never with `--json`. */
  readonly printLines: (lines: readonly string[]) => void
  /** Writes to standard error while the command runs. */
  readonly printError: (text: string) => void
  /** Reads one line that must not be an argument. `prompt` is shown at a terminal. */
  readonly readSecret: (prompt: string) => Promise<string>
  /** Standard input. It is not read before this is called. */
  readonly openInput: () => AsyncIterable<Buffer>
  /** See `ProgramIo`. A process that holds a lock of the database, now or later, must not call it. */
  readonly lowerPriority: () => void
  /** Null if standard output is no terminal. */
  readonly terminal: Terminal | null
  /** Call it often while the command takes long. */
  readonly showProgress: ShowProgress
}

export interface Command {
  /** The name, such as `key create`. */
  readonly name: string
  /** The arguments, such as `NAME [--force]`. */
  readonly usage: string
  readonly summary: string
  /** The common options `--config` and `--json` are not among them. */
  readonly options: Readonly<Record<string, 'string' | 'boolean'>>
  /** The command ends when its change is in effect in the running daemon. */
  readonly awaitsNotice?: true
  /** Refused while a server that other machines reach has a name of one label. */
  readonly needsFullNames?: true
  /** It works on the files of the database, and does nothing where a server has the data. A text says what is done there. */
  readonly needsFiles?: true | string
  /** It works for a user that may not enter the data folder. */
  readonly worksOutsideFolder?: true
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

/** Refuses more than `count` arguments: a mistyped option must not be ignored. */
export function refuseExtraWords(words: readonly string[], count: number): void {
  if (words.length > count) throw new UsageError(`unexpected: ${words.slice(count).join(' ')}`)
}
