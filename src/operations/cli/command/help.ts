/**
 * The text of `help`, `--help` and a call without arguments: one screen with all commands by their tasks, the commands
 * of one family, or the usage of one command.
 */
import { findClosestWord } from '../../../base/platform/closest-word.js'
import { type Command, UsageError } from './command.js'

export type DescribedCommand = Pick<Command, 'name' | 'usage' | 'summary' | 'options'>

/** Commands for one task. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly DescribedCommand[]
}

/** The commands that need no database. */
export const standaloneCommands: readonly DescribedCommand[] = [
  {
    name: 'serve',
    usage: '[--no-copy]',
    summary: 'run the daemon; SIGHUP makes it apply a changed configuration, as reload does',
    options: { 'no-copy': 'boolean' },
  },
  {
    name: 'check',
    usage: '[--upgrade [--copy-to FOLDER]]',
    summary: "check the configuration with the rights of the daemon's user, and print its problems",
    options: { upgrade: 'boolean', 'copy-to': 'string' },
  },
  { name: 'version', usage: '', summary: 'print the version, as --version does', options: {} },
  { name: 'help', usage: '[COMMAND]', summary: 'list the commands, or show how to use one', options: {} },
  {
    name: 'completion',
    usage: 'bash|zsh|fish',
    summary: 'print a script with which a shell completes commands, options and their values',
    options: {},
  },
]

export const commonOptionTexts: Readonly<Record<string, string>> = {
  '--config FILE': 'the configuration file; without it $POSTHORN_CONFIG, then /etc/posthorn/posthorn.toml if it exists',
  '--json': 'print one JSON value instead of text',
}

/** The key is the name of the option. If commands differ, the command or its first word comes before it. */
const options: Readonly<Record<string, string>> = {
  'allow-changes': 'also give the agent the tools that change something, such as the one that sends',
  as: 'what the messages are: spam or ham',
  compact: 'leave out the free pages of the database',
  'code-length': 'the number of digits of the code, 4 to 8; without it 6',
  'copy-to': 'the folder in which the copy is made; without it the data folder',
  domains: 'sending domains that the key may use, separated by commas; without it all of the workspace',
  domain: 'only entries whose recipient is in this domain',
  email: 'the address of the owner',
  'expiry-minutes': 'how many minutes the code is valid, 1 to 60; without it 10',
  'expires-at': 'when the key ends, such as 2030-01-31T09:00:00Z',
  format: 'how to print the DNS records: text, zone (a zone file) or json',
  from: 'the sender, in a verified domain',
  header: 'print the header fields as they are',
  'hold-queue': 'hold every entry of the queue, until "posthorn queue release"',
  inbound: 'also receive mail for the domain',
  keep: 'how many backups of this command the folder keeps; without it all',
  'key-file': 'the file that has the API key; without it the key is in $POSTHORN_API_KEY',
  'no-copy': 'make no copy of the database before an upgrade',
  'no-wait': 'return at once, while the entries are still being moved',
  nagios: 'answer as a plugin of Nagios: one line, and exit status 0 ok, 1 warning or 2 critical',
  name: 'what the key is for, in your words',
  networks:
    'addresses and networks that may use the key, separated by commas, such as 192.0.2.7,2001:db8::/32; without it all',
  'older-than': 'only entries that were accepted, or became due, longer ago than this, such as 90s, 5m, 2h or 4d',
  once: 'print one snapshot and end, as it does if standard output is not a terminal',
  pace: 'the most MB to copy in a second; without it as many as the load allows',
  pattern: 'a pattern of recipients in which * means any characters, such as news-*@example.org',
  provider: 'only entries of this mailbox provider, such as google, microsoft or yahoo',
  raw: 'print the bytes of the message, unchanged',
  reason: 'only entries that wait for this reason, such as greylisted, rate-limited or host-down',
  progress: 'show the progress, as it does if standard error is a terminal',
  repair: 'count the metrics again first, while the daemon is stopped; it repairs nothing else',
  service: 'use the list of the service itself, for its own mail',
  scopes: 'what the key may do, separated by commas: full, send, read',
  selector: 'the DKIM selector under which the public key is published',
  'key create sender': 'address in a verified domain that replaces senders of SMTP which the key may not use',
  'domain force': 'take the domain as verified without asking DNS, as in a closed network',
  'domain rotate force': 'sign with the other key at once, without asking DNS',
  sender: 'only entries whose From address is this one, or in this domain',
  'queue rules add domain': 'mail to recipients in this domain',
  'queue rules add sender': 'mail whose From address is this one, or in this domain',
  'queue rules add workspace': 'mail of this workspace, by its id',
  'setup domain': 'the domain that mail comes from',
  'setup workspace': 'the name of the workspace',
  'queue workspace': 'only entries of this workspace, by its id',
  'suppression reason': 'why the addresses are on the list, if a line of the file does not say it; without it manual',
  'sms holds workspace': 'only prefixes of this workspace, by its id',
  'sms release workspace': 'only in this workspace, by its id; without it in all workspaces',
  'standby follow once': 'bring the copy up to date once, and end',
  'storage copy to': 'the database, as storage.url names it: postgres://USER@HOST:5432/NAME',
  'storage copy password-file':
    'the file with the password; without it storage.password_file, PGPASSWORD, then ~/.pgpass',
  'storage copy ca-file': 'certificates (PEM) that are trusted for the server; without it storage.ca_file',
  'storage copy schema': 'the schema that is made; without it storage.schema',
  status: 'only entries in this state',
  subject: 'the subject of the message; without it "Posthorn test message"',
  template: 'the text of the message, with {code} and optionally {minutes}; without it a default text',
  to: 'the recipient',
  transcript: 'also show each command and reply of the SMTP sessions',
  url: 'where the API is, such as https://mx.example.com:8443; without it $POSTHORN_URL, then the listener of the configuration',
  upgrade: 'also try the upgrade on a copy of the database, which is then removed; the daemon may run',
  until: 'when the rule ends, such as 2030-01-31T09:00:00Z, or 2h or 3d from now; without it when you remove it',
  wait: 'wait for an hour at most until DNS has the records, then verify the domain and send a message to the owner',
  workspace: 'the id of the workspace; needed if there are several',
  yes: 'delete it although it is verified: its DKIM keys are lost and its queued mail fails',
}

/** The subjects of the families that have no command of just their name. Each such family needs one. */
export const families: Readonly<Record<string, string>> = {
  workspace: 'workspaces',
  user: 'people who sign in',
  key: 'API keys',
  domain: 'domains that send and receive mail',
  queue: 'the outbound queue',
  'queue rules': 'rules that hold mail',
  breaker: 'mail that is held because too much of it bounces',
  suppression: 'addresses to which nothing is sent',
  sms: 'verification codes by SMS',
  standby: 'a copy of the database on another machine',
  node: 'daemons that share a PostgreSQL database',
}

const SCREEN_WIDTH = 80

export function formatOverview(groups: readonly CommandGroup[]): string {
  const all = [{ title: 'This program', commands: standaloneCommands }, ...groups].map(({ title, commands }) => {
    const words = new Set(commands.map(({ name }) => name.split(' ', 1)[0] ?? ''))
    return { title, rows: [...words].map((word) => describeFamily(word, commands)) }
  })
  const width = Math.max(...all.flatMap(({ rows }) => rows.map(([name]) => name.length)))
  return [
    'posthorn COMMAND [--config FILE] [--json]',
    ...all.flatMap(({ title, rows }) => ['', `${title}:`, ...rows.flatMap((row) => formatRow(row, width))]),
    '',
    '"posthorn help COMMAND" shows the usage and the options of a command, or lists',
    'those of a family. Exit status: 0 done, 1 refused or failed, 2 wrong usage.',
    '',
  ].join('\n')
}

type Row = readonly [name: string, text: string]

/** All commands that begin with a word, in one row. */
function describeFamily(word: string, commands: readonly DescribedCommand[]): Row {
  const members = commands.filter(({ name }) => startsWithWords(name.split(' '), [word]))
  const [first, ...others] = members
  if (first !== undefined && others.length === 0) return [first.name, shorten(first.summary)]
  const own = members.find(({ name }) => name === word)
  const verbs = new Set(members.flatMap(({ name }) => name.split(' ')[1] ?? []))
  return [
    word,
    `${families[word] ?? shorten(own?.summary ?? '')}: ${own === undefined ? '' : 'also '}${[...verbs].join(', ')}`,
  ]
}

/** What the overview has room for beside a name. */
const ROOM = 62

/** The first clause of a summary, without its last parts if it is long. */
function shorten(summary: string): string {
  let [text = ''] = summary.split(/[;:]/, 1)
  while (text.length > ROOM && text.includes(', ')) text = text.slice(0, text.lastIndexOf(', '))
  return text
}

/** Later lines of the text begin below its first line. */
function formatRow([name, text]: Row, width: number): readonly string[] {
  const lines: string[] = []
  let line = `  ${name.padEnd(width)} `
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > SCREEN_WIDTH && line.trim() !== '') {
      lines.push(line)
      line = ' '.repeat(width + 3)
    }
    line += ` ${word}`
  }
  return [...lines, line]
}

/**
 * The usage of the command that these words name, and the commands that begin with them. Throws a UsageError if there
 * is none.
 */
export function formatHelp(words: readonly string[], commands: readonly DescribedCommand[]): string {
  const found = [...standaloneCommands, ...commands].filter(({ name }) => startsWithWords(name.split(' '), words))
  if (found.length === 0) throw unknownCommandError(words, commands)
  // Arguments may follow the name of the command.
  const named = found
    .filter(({ name }) => name.split(' ').length <= words.length)
    .toSorted((one, other) => other.name.length - one.name.length)[0]
  const family = found.filter(({ name }) => named === undefined || name.startsWith(`${named.name} `))
  const listed = named === undefined || named.name === words.join(' ') ? family : []
  return [...(named === undefined ? [] : [formatUsage(named)]), ...formatFamily(words, listed)].join('\n')
}

function formatFamily(words: readonly string[], listed: readonly DescribedCommand[]): readonly string[] {
  if (listed.length === 0) return []
  const name = words.join(' ')
  const subject = families[name] === undefined ? '' : `: ${families[name]}`
  const width = Math.max(...listed.map((command) => command.name.length))
  return [
    `posthorn ${name} ...${subject}`,
    ...listed.flatMap((command) => formatRow([command.name, command.summary], width)),
    '',
    `"posthorn help ${listed[0]?.name}" shows the usage and the options of one.`,
    '',
  ]
}

/** Names the command that was probably meant, or the commands that begin with the same word. */
export function unknownCommandError(words: readonly string[], commands: readonly DescribedCommand[]): UsageError {
  const names = [...standaloneCommands, ...commands].map(({ name }) => name)
  if (words[0] === 'status') {
    return new UsageError(
      'unknown command: status; "systemctl status posthorn" shows whether the daemon runs, "posthorn top --once" what it ' +
        'does, and "posthorn doctor" what is wrong',
    )
  }
  const same = names.filter((name) => name.startsWith(`${words[0]} `))
  const meant = findMeant(words, names)
  const known =
    meant !== null ? `; did you mean "${meant}"?` : same.length > 0 ? ` (there are: ${same.join(', ')})` : ''
  return new UsageError(`unknown command: ${words.join(' ')}${known}`)
}

/** Arguments may follow the name of the command. */
function findMeant(words: readonly string[], names: readonly string[]): string | null {
  for (const count of [3, 2, 1]) {
    const ofThisLength = names.filter((name) => name.split(' ').length === count)
    const meant = words.length < count ? null : findClosestWord(words.slice(0, count).join(' '), ofThisLength)
    if (meant !== null) return meant
  }
  const groups = [...new Set(names.map((name) => name.split(' ', 1)[0] ?? ''))]
  return words[0] === undefined || groups.includes(words[0]) ? null : findClosestWord(words[0], groups)
}

function startsWithWords(name: readonly string[], words: readonly string[]): boolean {
  return name.every((part, at) => words[at] === undefined || words[at] === part)
}

function formatUsage({ name, usage, summary, options }: DescribedCommand): string {
  const rows = Object.keys(options).map((option) => [`--${option}`, describeOption(name, option)] as const)
  const all = [...rows, ...Object.entries(commonOptionTexts)]
  const width = Math.max(...all.map(([option]) => option.length))
  return [
    `posthorn ${`${name} ${usage}`.trim()}`,
    `    ${summary}`,
    '',
    ...all.map(([option, text]) => `  ${option.padEnd(width)}  ${text}`),
    '',
  ].join('\n')
}

export function describeOption(command: string, option: string): string {
  return options[`${command} ${option}`] ?? options[`${command.split(' ')[0]} ${option}`] ?? options[option] ?? ''
}
