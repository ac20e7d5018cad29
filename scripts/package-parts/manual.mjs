/**
 * Writes the manual page posthorn(1) from the commands: one page, in which a reader searches.
 *
 *   node manual.mjs --version V --date 2026-01-31     prints it
 */
import { parseArgs } from 'node:util'
import { commonOptionTexts, describeOption, standaloneCommands } from '../../dist/src/operations/cli/command/help.js'
import { commandGroups } from '../../dist/src/operations/cli/command-list/all-commands.js'
import { item, section, toRoff } from './roff.mjs'

const text = { type: 'string' }
const { version, date } = parseArgs({ options: { version: text, date: text } }).values
process.stdout.write(`${writePage().join('\n')}\n`)

function writePage() {
  const groups = [{ title: 'This program', commands: standaloneCommands }, ...commandGroups]
  return [
    `.TH POSTHORN 1 "${date}" "posthorn ${toRoff(version)}" "Posthorn"`,
    ...section('Name', [toRoff('posthorn - self-hosted mail server for applications')]),
    ...section('Synopsis', ['.B posthorn', '.I COMMAND', toRoff('[--config FILE] [--json]')]),
    ...section('Description', [
      toRoff('Each command works while the daemon runs, where it does not say otherwise.'),
      toRoff('Options may stand before or after the command.'),
    ]),
    ...section(
      'Options',
      Object.entries(commonOptionTexts).flatMap((option) => item(option)),
    ),
    ...groups.flatMap(({ title, commands }) => section(title, commands.flatMap(describeCommand))),
    ...section('Exit status', ['0 done, 1 refused or failed, 2 wrong usage.']),
    ...section('Files', [
      ...item(['/etc/posthorn/posthorn.toml', 'the configuration of a package']),
      ...item(['/usr/share/doc/posthorn/docs', 'all documents; of a tarball, in /usr/local/share/doc/posthorn/docs']),
    ]),
    ...section('See also', ['.BR sendmail.posthorn (8)']),
  ]
}

function describeCommand({ name, usage, summary, options }) {
  const described = Object.keys(options).flatMap((option) => item([`--${option}`, describeOption(name, option)]))
  const rest = usage === '' ? '' : ` ${toRoff(usage)}`
  return [...item([name, summary], rest), ...(described.length === 0 ? [] : ['.RS', ...described, '.RE'])]
}
