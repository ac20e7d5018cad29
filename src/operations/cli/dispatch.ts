/**
 * Runs the command that a line names, with the configuration, as the user of the data folder. The daemon may be
 * running.
 */
import { type LoadedConfig, loadConfig } from '../../base/config/load.js'
import { formatProblems } from '../../base/config/problems.js'
import { systemClock } from '../../base/platform/clock.js'
import type { OpenStore } from '../../base/storage/db/database.js'
import { type Answer, type Call, type Command, CommandFailed, refuseExtraWords, textOption } from './command/command.js'
import type { NoticeWait } from './command/daemon-notice.js'
import { standaloneCommands, unknownCommandError } from './command/help.js'
import { maskControls } from './command/mask-controls.js'
import { type CommandLine, refuseForeignOptions } from './command/parse-line.js'
import { becomeOwner, describeForbidden, requireFolderAccess } from './command/process-user.js'
import { formatLines, type ProgramIo, printAnswer, printText } from './command/program-io.js'
import { createProgress } from './command/progress.js'
import { SETTINGS_KEPT } from './command/reload-report.js'
import { databaseCommands } from './command-list/all-commands.js'

/** Resolves to the exit status. */
export async function dispatch(io: ProgramIo, line: CommandLine): Promise<number> {
  const [verb] = line.words
  const load = (): LoadedConfig =>
    loadConfig({
      ...{ file: textOption(line.options, 'config') ?? null, env: io.env },
      needsCredentials: verb === 'serve',
    })
  if (verb === 'check') return runCheck(io, line, load)
  const loaded = load()
  const command = databaseCommands.find(({ name }) => matchesCommand(line.words, name))
  if (command === undefined && verb !== 'serve') throw unknownCommandError(line.words, databaseCommands)
  refuseForeignOptions(line.options, command?.options ?? optionsOf('serve'))
  if (loaded.kind === 'problems') return refuseProblems(io, line, loaded.isForbidden ? addAdvice(loaded) : loaded)
  const { shortNames } = loaded
  if (command?.needsFullNames === true && shortNames.length > 0) {
    return refuseProblems(io, line, { file: loaded.file, problems: shortNames })
  }
  const words = line.words.slice(command?.name.split(' ').length ?? 1)
  becomeOwner(loaded.config.service.data_dir)
  if (command === undefined) {
    const { isJournalStream } = await import('../../base/platform/log.js')
    const { serve } = await import('./commands/serve.js')
    const serveOptions = { env: io.env, journal: isJournalStream(io.env['JOURNAL_STREAM']), reload: load, shortNames }
    const { config, written } = loaded
    await serve({ words, options: line.options, config, written, clock: systemClock }, serveOptions)
    return 0
  }
  if (command.worksOutsideFolder !== true) requireFolderAccess(loaded.config.service.data_dir)
  const { readSecret, openInput, printError, lowerPriority } = io
  const call = {
    ...{
      words,
      options: line.options,
      config: loaded.config,
      written: loaded.written,
      clock: systemClock,
      env: io.env,
    },
    ...{ readSecret, openInput, printError, lowerPriority },
    printLines: (lines: readonly string[]) => io.print(formatLines(lines)),
    terminal: io.terminal ?? null,
    showProgress: createProgress(printError, () => performance.now()),
  }
  return printAnswer(io, line, await runCommand(command, call))
}

async function runCheck(io: ProgramIo, line: CommandLine, load: () => LoadedConfig): Promise<number> {
  refuseExtraWords(line.words, 1)
  refuseForeignOptions(line.options, optionsOf('check'))
  const report = (text: string): void => io.printError(`posthorn: ${maskControls(text)}\n`)
  const { check } = await import('./commands/check.js')
  return printText(io, line, await check(load, { options: line.options, report }))
}

/** The database is loaded when the command asks for it. */
async function runCommand(command: Command, call: Omit<Call, 'database'>): Promise<Answer> {
  const { config } = call
  if (command.needsFiles !== undefined && config.storage.url !== '') {
    const instead = command.needsFiles === true ? 'whose own tools do this' : command.needsFiles
    const where = `the data is on the server that storage.url names, ${instead}`
    throw new CommandFailed(`${command.name}: ${where} (docs/postgresql.md)`)
  }
  const opened: { database: Promise<OpenStore> | null; notice: NoticeWait | null } = { database: null, notice: null }
  const database: Call['database'] = async () => {
    const { openConfiguredStore } = await import('./command/open-store.js')
    opened.database ??= openConfiguredStore(config)
    const open = await opened.database
    if (command.awaitsNotice !== true) return open
    const { findDaemonOf, findNodes, withNotice } = await import('./command/daemon-notice.js')
    opened.notice ??= withNotice(
      open,
      config.storage.url === '' ? findDaemonOf(config.service.data_dir) : findNodes(open),
    )
    return opened.notice.database
  }
  try {
    const answer = await command.run({ ...call, database })
    return (await opened.notice?.afterNotice(answer)) ?? answer
  } finally {
    await opened.database?.then(
      (open) => open.close(),
      // The command has reported it.
      () => undefined,
    )
  }
}

type Problems = Pick<Extract<LoadedConfig, { kind: 'problems' }>, 'file' | 'problems'>

/** Packages install a configuration that ordinary users cannot read. The sentence names the file itself. */
function addAdvice({ file }: Problems): Problems {
  return { file: '', problems: [{ key: '', message: describeForbidden(file ?? '') }] }
}

/**
 * With `--json` the problems are the one value that is printed, in the form of `check`, or of `reload` for that
 * command.
 */
function refuseProblems(io: ProgramIo, line: CommandLine, { file, problems }: Problems): number {
  const isReload = line.words[0] === 'reload'
  if (line.options['json'] !== true) {
    throw new CommandFailed([formatProblems(file, problems), ...(isReload ? [SETTINGS_KEPT] : [])].join('\n'))
  }
  const settings = isReload ? { applied: [], pending: [] } : {}
  io.printError(`posthorn: ${maskControls(formatProblems(file, problems))}\n`)
  return printText(io, line, { json: { ok: false, ...settings, problems }, lines: [], failed: true })
}

function matchesCommand(words: readonly string[], name: string): boolean {
  return name.split(' ').every((part, at) => words[at] === part)
}

function optionsOf(standalone: string): Command['options'] {
  return standaloneCommands.find(({ name }) => name === standalone)?.options ?? {}
}
