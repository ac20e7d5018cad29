/**
 * The command line: finds the command, reads its options, prints what it answers.
 *
 * Exit status: 0 done, 1 refused or failed, 2 usage. What is said with `--json` is one
 * JSON value on standard output; errors always go to standard error.
 */
import { mkdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadConfig } from '../config/load.js'
import { problemLines } from '../config/problems.js'
import { systemClock } from '../platform/clock.js'
import type { Database } from '../storage/database.js'
import { databaseFile, openDatabase } from '../storage/open.js'
import { check } from './check.js'
import {
  type Answer,
  atMost,
  type Call,
  type Command,
  CommandFailed,
  type OptionValues,
  UsageError,
} from './command.js'
import { type Asking, asking } from './daemon-notice.js'
import { domainCommands } from './domain-commands.js'
import { domainDnsCommands } from './domain-dns-commands.js'
import { emailCommands } from './email-commands.js'
import { failureOf } from './failure.js'
import { keyCommands } from './key-commands.js'
import { becomeOwner } from './owner.js'
import { queueCommands } from './queue-commands.js'
import { spamCommands } from './spam-commands.js'
import { storageCommands } from './storage-commands.js'
import { suppressionCommands } from './suppression-commands.js'
import { userCommands } from './user-commands.js'
import { workspaceCommands } from './workspace-commands.js'
import { zoneCommands } from './zone-command.js'

export interface World {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly print: (text: string) => void
  readonly complain: (text: string) => void
  /** Asks for a line that is not shown. */
  readonly secret: (prompt: string) => Promise<string>
}

const withDatabase: readonly Command[] = [
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

const common = { config: 'string', json: 'boolean', help: 'boolean' } as const

interface Line {
  readonly words: readonly string[]
  readonly options: OptionValues
}

/** Resolves to the exit status. */
export async function run(world: World): Promise<number> {
  try {
    const line = parse(world.argv)
    if (line.options['help'] === true || line.words.length === 0) {
      world.print(usage())
      return line.words.length === 0 && line.options['help'] !== true ? 2 : 0
    }
    return await dispatch(world, line)
  } catch (error) {
    const { status, text } = failureOf(error)
    world.complain(`posthorn: ${text}\n`)
    return status
  }
}

async function dispatch(world: World, line: Line): Promise<number> {
  const [verb] = line.words
  const loaded = loadConfig({ file: (line.options['config'] as string | undefined) ?? null, env: world.env })
  if (verb === 'check') {
    atMost(line.words, 1)
    refuseForeignOptions(line.options, undefined)
    return said(world, line, await check(loaded))
  }
  const command = withDatabase.find(({ name }) => startsWith(line.words, name))
  if (command === undefined && verb !== 'serve') throw new UsageError(`unknown command: ${line.words.join(' ')}`)
  refuseForeignOptions(line.options, command)
  if (loaded.kind === 'problems') throw new CommandFailed(problemLines(loaded.file, loaded.problems))
  const words = line.words.slice(command?.name.split(' ').length ?? 1)
  becomeOwner(loaded.config.service.data_dir)
  if (command === undefined) {
    // The daemon's rooms are read for it alone: any other command starts twice as fast without them.
    const { serve } = await import('./serve.js')
    await serve({ words, config: loaded.config, clock: systemClock }, world.env['NOTIFY_SOCKET'] ?? null)
    return 0
  }
  const call = { words, options: line.options, config: loaded.config, clock: systemClock, secret: world.secret }
  return said(world, line, await runCommand(command, call))
}

async function runCommand(command: Command, call: Omit<Call, 'database'>): Promise<Answer> {
  const { config } = call
  let opened: Promise<Database> | null = null
  let asked: Asking | null = null
  const database: Call['database'] = async () => {
    mkdirSync(config.service.data_dir, { recursive: true, mode: 0o700 })
    opened ??= openDatabase({ file: databaseFile(config.service.data_dir) })
    const open = await opened
    if (command.noticed !== true) return open
    asked ??= asking(open, config.service.data_dir)
    return asked.database
  }
  try {
    const answer = await command.run({ ...call, database })
    return (await (asked as Asking | null)?.afterNotice(answer)) ?? answer
  } finally {
    await (opened as Promise<Database> | null)?.then((open) => open.close())
  }
}

function parse(argv: readonly string[]): Line {
  const own = withDatabase.map(({ options }) => options)
  const kinds = Object.assign({}, common, ...own) as Record<string, 'string' | 'boolean'>
  const options = Object.fromEntries(Object.entries(kinds).map(([name, type]) => [name, { type }]))
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true })
    return { words: positionals, options: values as OptionValues }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function startsWith(words: readonly string[], name: string): boolean {
  return name.split(' ').every((part, place) => words[place] === part)
}

/** An option of another command is a mistake, and would be passed over. */
function refuseForeignOptions(options: OptionValues, command: Command | undefined): void {
  const foreign = Object.keys(options).find((name) => !(name in common) && !(name in (command?.options ?? {})))
  if (foreign !== undefined) throw new UsageError(`--${foreign} does not belong to this command`)
}

/** Prints the answer; gives the exit status. */
function said({ print, complain }: World, { options }: Line, { json, lines, failed, warnings = [] }: Answer): number {
  for (const warning of warnings) complain(`posthorn: ${harmless(warning)}\n`)
  print(options['json'] === true ? `${JSON.stringify(json)}\n` : lines.map((line) => `${harmless(line)}\n`).join(''))
  return failed === true ? 1 : 0
}

/** A subject or a name may hold what would steer the terminal. */
function harmless(line: string): string {
  return line.replace(/[^\P{Cc}\n]/gu, '?')
}

function usage(): string {
  const commands = [
    { name: 'serve', usage: '', summary: 'run the daemon' },
    { name: 'check', usage: '', summary: 'read the configuration and print its problems' },
    ...withDatabase,
  ]
  return [
    'posthorn COMMAND [--config FILE] [--json]',
    '',
    ...commands.flatMap(({ name, usage: use, summary }) => [`  ${`${name} ${use}`.trim()}`, `      ${summary}`]),
    '',
  ].join('\n')
}
