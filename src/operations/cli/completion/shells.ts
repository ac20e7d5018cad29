/** `completion`: the scripts that have a shell complete what is typed. */
import { type Answer, refuseExtraWords, requiredWord, UsageError } from '../command/command.js'
import type { DescribedCommand } from '../command/help.js'
import { type CommandLine, refuseForeignOptions } from '../command/parse-line.js'
import { writeBashScript } from './bash.js'
import { writeFishScript } from './fish.js'
import { listPlaces } from './places.js'
import { writeZshScript } from './zsh.js'

const writers = new Map([
  ['bash', writeBashScript],
  ['zsh', writeZshScript],
  ['fish', writeFishScript],
])

export function completeIn({ words, options }: CommandLine, commands: readonly DescribedCommand[]): Answer {
  refuseExtraWords(words, 2)
  refuseForeignOptions(options, {})
  const shells = [...writers.keys()].join(', ')
  const shell = requiredWord(words, 1, `the shell (${shells})`)
  const write = writers.get(shell)
  if (write === undefined) throw new UsageError(`found ${shell}; allowed: ${shells}`)
  const script = write(listPlaces(commands))
  return { json: { shell, script }, lines: script.trimEnd().split('\n') }
}
