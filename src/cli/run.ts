/**
 * The command line: finds the command, parses its options, and prints its answer.
 *
 * Exit status: 0 done, 1 refused or failed, 2 wrong usage. With `--json` the output is one JSON value on standard
 * output; errors always go to standard error.
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
import { breakerCommands } from './commands/breaker-commands.js'
import { certificateCommands } from './commands/certificate-commands.js'
import { check } from './commands/check.js'
import { doctorCommands } from './commands/doctor.js'
import { domainCommands } from './commands/domain-commands.js'
import { domainDnsCommands } from './commands/domain-dns-commands.js'
import { domainReportCommand } from './commands/domain-report-command.js'
import { emailCommands } from './commands/email-commands.js'
import { keyCommands } from './commands/key-commands.js'
import { logCommands } from './commands/log-command.js'
import { queueCommands } from './commands/queue-commands.js'
import { queueRuleCommands } from './commands/queue-rule-commands.js'
import { reloadCommands } from './commands/reload.js'
import { shapingCommands } from './commands/shaping-commands.js'
import { smsCommands } from './commands/sms-commands.js'
import { spamCommands } from './commands/spam-commands.js'
import { standbyCommands } from './commands/standby-commands.js'
import { storageCommands } from './commands/storage-commands.js'
import { suppressionCommands } from './commands/suppression-commands.js'
import { tlsReportCommands } from './commands/tls-report-commands.js'
import { topCommands } from './commands/top-command.js'
import { userCommands } from './commands/user-commands.js'
import { warmUpCommands } from './commands/warm-up-commands.js'
import { workspaceCommands } from './commands/workspace-commands.js'
import { zoneCommands } from './commands/zone-command.js'
import { type NoticeWait, withNotice } from './daemon-notice.js'
import { failureOf } from './failure.js'
import { formatHelp, formatOverview, standaloneCommands, unknownCommandError } from './help.js'
import { escapeControls, maskControls } from './mask-controls.js'
import { type CommandLine, parseLine } from './parse-line.js'
import { becomeOwner, requireFolderAccess } from './process-user.js'
import { createProgress } from './progress.js'
import type { Terminal } from './top/screen.js'

interface ProgramIo {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly print: (text: string) => void
  /** Resolves when everything is written. */
  readonly printBytes: (bytes: Readable) => Promise<void>
  readonly printError: (text: string) => void
  /** Reads a line without echo. */
  readonly readSecret: (prompt: string) => Promise<string>
  /** Absent: standard input and output are no terminal. */
  readonly terminal?: Terminal | undefined
}

export const databaseCommands: readonly Command[] = [
  ...workspaceCommands,
  ...userCommands,
  ...keyCommands,
  ...domainCommands,
  domainReportCommand,
  ...domainDnsCommands,
  ...queueCommands,
  ...queueRuleCommands,
  ...breakerCommands,
  ...shapingCommands,
  ...warmUpCommands,
  ...emailCommands,
  ...logCommands,
  ...spamCommands,
  ...suppressionCommands,
  ...tlsReportCommands,
  ...smsCommands,
  ...zoneCommands,
  ...certificateCommands,
  ...storageCommands,
  ...standbyCommands,
  ...topCommands,
  ...doctorCommands,
  ...reloadCommands,
]

const commonOptions = { config: 'string', json: 'boolean', help: 'boolean', version: 'boolean' } as const

/** Resolves to the exit status. */
export async function run(io: ProgramIo): Promise<number> {
  try {
    const kinds = [...standaloneCommands, ...databaseCommands].map(({ options }) => options)
    const line = parseLine(io.argv, Object.assign({}, commonOptions, ...kinds))
    return answerHelpOrVersion(io, line) ?? (await dispatch(io, line))
  } catch (error) {
    const { status, text } = failureOf(error)
    io.printError(`posthorn: ${maskControls(text)}\n`)
    return status
  }
}

/** Version and help, which need no configuration. Null: the line asks for something else. */
function answerHelpOrVersion(io: ProgramIo, line: CommandLine): number | null {
  const { words, options } = line
  const [verb, ...others] = words
  const isHelp = options['help'] === true || verb === 'help'
  if (!isHelp && (options['version'] === true || verb === 'version')) {
    refuseExtraWords(words, 1)
    return printText(io, line, { json: { version, node: process.version }, lines: [`posthorn ${version}`] })
  }
  if (!isHelp && verb !== undefined) return null
  const about = verb === 'help' ? others : words
  const help = (about.length === 0 ? formatOverview(databaseCommands) : formatHelp(about, databaseCommands)).trimEnd()
  const status = printText(io, line, { json: { help }, lines: [help] })
  return isHelp ? status : 2
}

async function dispatch(io: ProgramIo, line: CommandLine): Promise<number> {
  const [verb] = line.words
  const load = (): LoadedConfig =>
    loadConfig({
      ...{ file: textOption(line.options, 'config') ?? null, env: io.env },
      needsCredentials: verb === 'serve',
    })
  if (verb === 'check') {
    refuseExtraWords(line.words, 1)
    refuseForeignOptions(line.options, optionsOf('check'))
    const report = (text: string): void => io.printError(`posthorn: ${maskControls(text)}\n`)
    return printText(io, line, await check(load, { options: line.options, report }))
  }
  const loaded = load()
  const command = databaseCommands.find(({ name }) => matchesCommand(line.words, name))
  if (command === undefined && verb !== 'serve') throw unknownCommandError(line.words, databaseCommands)
  refuseForeignOptions(line.options, command?.options ?? optionsOf('serve'))
  if (loaded.kind === 'problems') throw new CommandFailed(formatProblems(loaded.file, loaded.problems))
  const words = line.words.slice(command?.name.split(' ').length ?? 1)
  becomeOwner(loaded.config.service.data_dir)
  if (command === undefined) {
    // Loaded for the daemon only: other commands start twice as fast without its modules.
    const { serve } = await import('./commands/serve.js')
    const serveOptions = { env: io.env, journal: isJournalStream(io.env['JOURNAL_STREAM']), reload: load }
    await serve({ words, options: line.options, config: loaded.config, clock: systemClock }, serveOptions)
    return 0
  }
  // The doctor reports it as a finding, and goes on with the rest.
  if (command.name !== 'doctor') requireFolderAccess(loaded.config.service.data_dir)
  const { readSecret, printError } = io
  const call = {
    ...{ words, options: line.options, config: loaded.config, clock: systemClock, readSecret, printError },
    terminal: io.terminal ?? null,
    showProgress: createProgress(printError, () => performance.now()),
  }
  return printAnswer(io, line, await runCommand(command, call))
}

async function runCommand(command: Command, call: Omit<Call, 'database'>): Promise<Answer> {
  const { config } = call
  const opened: { database: Promise<Database> | null; notice: NoticeWait | null } = { database: null, notice: null }
  const database: Call['database'] = async () => {
    mkdirSync(config.service.data_dir, { recursive: true, mode: 0o700 })
    opened.database ??= openDatabase({ file: databaseFile(config.service.data_dir), refuseEarlier: true })
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
  return name.split(' ').every((part, at) => words[at] === part)
}

function optionsOf(standalone: string): Command['options'] {
  return standaloneCommands.find(({ name }) => name === standalone)?.options ?? {}
}

/** An option of another command is a mistake that must not be ignored. */
function refuseForeignOptions(options: CommandLine['options'], own: Command['options']): void {
  const foreign = Object.keys(options).find((name) => !(name in commonOptions) && !(name in own))
  if (foreign !== undefined) throw new UsageError(`--${foreign} does not belong to this command`)
}

async function printAnswer(io: ProgramIo, line: CommandLine, answer: Answer): Promise<number> {
  if (answer.file === undefined) return printText(io, line, answer)
  const bytes = (await open(answer.file)).createReadStream()
  // The open file stays readable, and nothing is left if the process is killed.
  rmSync(answer.file)
  await io.printBytes(bytes)
  return 0
}

/** Prints the answer and returns the exit status. */
function printText(
  { print, printError }: ProgramIo,
  { options }: CommandLine,
  { json, lines, failed, status, warnings = [] }: Answer,
): number {
  for (const warning of warnings) printError(`posthorn: ${maskControls(warning)}\n`)
  print(
    options['json'] === true
      ? `${escapeControls(JSON.stringify(json))}\n`
      : lines.map((line) => `${maskControls(line)}\n`).join(''),
  )
  return status ?? (failed === true ? 1 : 0)
}
