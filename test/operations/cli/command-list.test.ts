/** The commands that the pages name exist, with the options that they have there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { standaloneCommands } from '../../../src/operations/cli/command/help.js'
import { commonOptions, parseLine, refuseForeignOptions } from '../../../src/operations/cli/command/parse-line.js'
import { databaseCommands } from '../../../src/operations/cli/command-list/all-commands.js'

const commands = [...standaloneCommands, ...databaseCommands]
const kinds = Object.assign({}, commonOptions, ...commands.map(({ options }) => options))
const pages = [
  'README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

/** Commands in blocks, with a prompt or without one, and in code within a sentence. Comments are left out. */
function commandsOf(page: string): readonly string[] {
  const text = readFileSync(page, 'utf8')
  const inBlocks = [...text.matchAll(/^```\w*\n(.*?)^```/gms)].flatMap(([, block = '']) =>
    [...block.matchAll(/^ *(?:[#$] )?posthorn ((?:[a-z-]+)(?: [^\n]*)?)$/gm)].map(([, line = '']) => line),
  )
  const inSentences = [...text.matchAll(/`posthorn ([a-z-]+(?: [^`\n]*)?)`/g)].map(([, line = '']) => line)
  return [...inBlocks, ...inSentences].map((line) => line.replace(/ {2,}.*| # .*| [|>].*/, ''))
}

function findFault(line: string): string | null {
  const argv = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, word]) => double ?? single ?? word ?? '',
  )
  try {
    const { words, options } = parseLine(argv, kinds)
    const family = commands.filter(({ name }) => name.startsWith(`${words[0]} `) || name === words[0])
    const command = family
      .filter(({ name }) => name.split(' ').every((part, at) => words[at] === part))
      .toSorted((one, other) => other.name.length - one.name.length)[0]
    if (command === undefined) return family.length > 0 && words.length === 1 ? null : 'no such command'
    refuseForeignOptions(options, command.options)
    return null
  } catch (error) {
    return String(error)
  }
}

t.test('the commands that the pages name exist, with their options', async (t) => {
  t.equal(findFault('queue list --domain example.org'), null)
  t.match(findFault('queue lst'), 'no such command')
  t.match(findFault('queue list --colour red'), /unknown option/)
  t.match(findFault('queue list --hold-queue'), /does not belong/)
  for (const page of pages) {
    for (const line of commandsOf(page)) t.equal(findFault(line), null, `${page}: posthorn ${line}`)
  }
})
