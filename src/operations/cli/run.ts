/**
 * The command line: finds the command, parses its options, and prints its answer.
 *
 * Exit status: 0 done, 1 refused or failed, 2 wrong usage. With `--json` the output is one JSON value on standard
 * output; errors always go to standard error.
 *
 * Invariant: version and help load nothing else, for they are answered at once. Therefore this file, `command-list/`
 * and what they import use no library; the rest is imported when a command is called.
 */
import { version } from '../../base/platform/version.js'
import { refuseExtraWords } from './command/command.js'
import { formatHelp, formatOverview, standaloneCommands } from './command/help.js'
import { maskControls } from './command/mask-controls.js'
import { type CommandLine, commonOptions, parseLine } from './command/parse-line.js'
import { type ProgramIo, printText } from './command/program-io.js'
import { commandGroups, databaseCommands } from './command-list/all-commands.js'

/** Resolves to the exit status. */
export async function run(io: ProgramIo): Promise<number> {
  try {
    const kinds = [...standaloneCommands, ...databaseCommands].map(({ options }) => options)
    const line = parseLine(io.argv, Object.assign({}, commonOptions, ...kinds))
    const answered = answerHelpOrVersion(io, line)
    if (answered !== null) return answered
    if (line.words[0] !== 'completion') return await (await import('./dispatch.js')).dispatch(io, line)
    const { completeIn } = await import('./completion/shells.js')
    return printText(io, line, completeIn(line, [...standaloneCommands, ...databaseCommands]))
  } catch (error) {
    const { failureOf, formatFailure } = await import('./command/failure.js')
    const { status, text } = failureOf(error, findCommandName(io.argv))
    io.printError(await formatFailure(maskControls(text), io.env['JOURNAL_STREAM']))
    return status
  }
}

/** The longest name of a command with which the line begins. Null if there is none. */
function findCommandName(argv: readonly string[]): string | null {
  const names = [...standaloneCommands, ...databaseCommands].map(({ name }) => name)
  for (const count of [3, 2, 1]) {
    const name = names.find((one) => argv.length >= count && one === argv.slice(0, count).join(' '))
    if (name !== undefined) return name
  }
  return null
}

/** Answers version and help, which need no configuration. Null if the line asks for something else. */
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
  const help = (about.length === 0 ? formatOverview(commandGroups) : formatHelp(about, databaseCommands)).trimEnd()
  const status = printText(io, line, { json: { help }, lines: [help] })
  return isHelp ? status : 2
}
