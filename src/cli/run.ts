/**
 * The command line: finds the command, reads its options, prints what it answers.
 *
 * Exit status: 0 done, 1 refused or failed, 2 usage. What is said with `--json` is one
 * JSON value on standard output; errors always go to standard error.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type LoadedConfig, loadConfig } from '../config/load.js'
import { formatProblems } from '../config/problems.js'
import { systemClock } from '../platform/clock.js'
import { isJournalStream } from '../platform/log.js'
import { version } from '../platform/version.js'
import type { Database } from '../storage/database.js'
import { databaseFile, openDatabase } from '../storage/open.js'
import {
  type Answer,
  type Call,
  type Command,
  CommandFailed,
  refuseExtraWords,
  textOption,
  UsageError,
} from './command.js'
import { check } from './commands/check.js'
import { domainCommands } from './commands/domain-commands.js'
import { domainDnsCommands } from './commands/domain-dns-commands.js'
import { emailCommands } from './commands/email-commands.js'
import { keyCommands } from './commands/key-commands.js'
import { queueCommands } from './commands/queue-commands.js'
import { spamCommands } from './commands/spam-commands.js'
import { storageCommands } from './commands/storage-commands.js'
import { suppressionCommands } from './commands/suppression-commands.js'
import { userCommands } from './commands/user-commands.js'
import { workspaceCommands } from './commands/workspace-commands.js'
import { zoneCommands } from './commands/zone-command.js'
import { type NoticeWait, withNotice } from './daemon-notice.js'
import { failureOf } from './failure.js'
import { formatHelp, formatOverview, unknownCommandError } from './help.js'
import { type CommandLine, parseLine } from './parse-line.js'
import { becomeOwner } from './process-user.js'

export interface ProgramIo {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly print: (text: string) => void
  /** Resolves when all of it was taken. */
  readonly printBytes: (bytes: Readable) => Promise<void>
  readonly printError: (text: string) => void
  /** Asks for a line that is not shown. */
  readonly readSecret: (prompt: string) => Promise<string>
}

export const databaseCommands: readonly Command[] = [
  ...workspaceCommands,
  ...userCommands,
  ...keyCommands,
  ...domainCommands,
  ...domainDnsCommands,
  ...queueCommands,
  ...emailCommands,
  ...spamCommands,
  ...suppressionCommands,
  ...zoneCommands,
  ...storageCommands,
]

const commonOptions = { config: 'string', json: 'boolean', help: 'boolean', version: 'boolean' } as const

/** Resolves to the exit status. */
export async function run(world: ProgramIo): Promise<number> {
  try {
    const line = parseLine(
      world.argv,
      Object.assign({}, commonOptions, ...databaseCommands.map(({ options }) => options)),
    )
    return answerHelpOrVersion(world, line) ?? (await dispatch(world, line))
  } catch (error) {
    const { status, text } = failureOf(error)
    world.printError(`posthorn: ${text}\n`)
    return status
  }
}

/** What needs no configuration: the version, and help. Null: something else is wanted. */
function answerHelpOrVersion(world: ProgramIo, line: CommandLine): number | null {
  const { words, options } = line
  const [verb, ...others] = words
  const isHelp = options['help'] === true || verb === 'help'
  if (!isHelp && (options['version'] === true || verb === 'version')) {
    refuseExtraWords(words, 1)
    return printText(world, line, { json: { version, node: process.version }, lines: [`posthorn ${version}`] })
  }
  if (!isHelp && verb !== undefined) return null
  const about = verb === 'help' ? others : words
  const help = (about.length === 0 ? formatOverview(databaseCommands) : formatHelp(about, databaseCommands)).trimEnd()
  const status = printText(world, line, { json: { help }, lines: [help] })
  return isHelp ? status : 2
}

async function dispatch(world: ProgramIo, line: CommandLine): Promise<number> {
  const [verb] = line.words
  const load = (): LoadedConfig => loadConfig({ file: textOption(line.options, 'config') ?? null, env: world.env })
  if (verb === 'check') {
    refuseExtraWords(line.words, 1)
    refuseForeignOptions(line.options, undefined)
    return printText(world, line, await check(load))
  }
  const loaded = load()
  const command = databaseCommands.find(({ name }) => matchesCommand(line.words, name))
  if (command === undefined && verb !== 'serve') throw unknownCommandError(line.words, databaseCommands)
  refuseForeignOptions(line.options, command)
  if (loaded.kind === 'problems') throw new CommandFailed(formatProblems(loaded.file, loaded.problems))
  const words = line.words.slice(command?.name.split(' ').length ?? 1)
  becomeOwner(loaded.config.service.data_dir)
  if (command === undefined) {
    // The daemon's rooms are read for it alone: any other command starts twice as fast without them.
    const { serve } = await import('./commands/serve.js')
    const { NOTIFY_SOCKET: socket = null, JOURNAL_STREAM: stream } = world.env
    const surroundings = { socket, journal: isJournalStream(stream), reload: load }
    await serve({ words, config: loaded.config, clock: systemClock }, surroundings)
    return 0
  }
  const call = { words, options: line.options, config: loaded.config, clock: systemClock, readSecret: world.readSecret }
  return printAnswer(world, line, await runCommand(command, call))
}

async function runCommand(command: Command, call: Omit<Call, 'database'>): Promise<Answer> {
  const { config } = call
  const opened: { database: Promise<Database> | null; notice: NoticeWait | null } = { database: null, notice: null }
  const database: Call['database'] = async () => {
    mkdirSync(config.service.data_dir, { recursive: true, mode: 0o700 })
    opened.database ??= openDatabase({ file: databaseFile(config.service.data_dir) })
    const open = await opened.database
    if (command.awaitsNotice !== true) return open
    opened.notice ??= withNotice(open, config.service.data_dir)
    return opened.notice.database
  }
  try {
    const answer = await command.run({ ...call, database })
    return (await opened.notice?.afterNotice(answer)) ?? answer
  } finally {
    await opened.database?.then((open) => open.close())
  }
}

function matchesCommand(words: readonly string[], name: string): boolean {
  return name.split(' ').every((part, place) => words[place] === part)
}

/** An option of another command is a mistake, and would be passed over. */
function refuseForeignOptions(options: CommandLine['options'], command: Command | undefined): void {
  const foreign = Object.keys(options).find((name) => !(name in commonOptions) && !(name in (command?.options ?? {})))
  if (foreign !== undefined) throw new UsageError(`--${foreign} does not belong to this command`)
}

async function printAnswer(world: ProgramIo, line: CommandLine, answer: Answer): Promise<number> {
  if (answer.file === undefined) return printText(world, line, answer)
  const bytes = (await open(answer.file)).createReadStream()
  // It goes on to be readable, and nothing is left when we are killed.
  rmSync(answer.file)
  await world.printBytes(bytes)
  return 0
}

/** Prints the answer; gives the exit status. */
function printText(
  { print, printError }: ProgramIo,
  { options }: CommandLine,
  { json, lines, failed, warnings = [] }: Answer,
): number {
  for (const warning of warnings) printError(`posthorn: ${maskControls(warning)}\n`)
  print(
    options['json'] === true ? `${JSON.stringify(json)}\n` : lines.map((line) => `${maskControls(line)}\n`).join(''),
  )
  return failed === true ? 1 : 0
}

/** A subject or a name may hold what would steer the terminal. */
function maskControls(line: string): string {
  return line.replace(/[^\P{Cc}\n]/gu, '?')
}
