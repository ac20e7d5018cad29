/**
 * How labelled bounces are compared, in `bounce-eval` and `classify-eval`: which of our reasons agree with
 * which label, and how the labelled mail is split.
 */
import { createHash } from 'node:crypto'

/** Label to the reasons that agree with it. */
export const accepted = {
  userunknown: ['bad-mailbox'],
  hasmoved: ['bad-mailbox'],
  filtered: ['bad-mailbox', 'policy'],
  suspend: ['mailbox-disabled'],
  mailboxfull: ['mailbox-full'],
  hostunknown: ['bad-domain'],
  notaccept: ['null-mx', 'bad-domain', 'remote-error'],
  expired: ['expired', 'timeout', 'unreachable', 'connection-refused', 'connection-lost', 'remote-error', 'dns'],
  networkerror: ['unreachable', 'dns', 'routing-loop', 'timeout', 'expired'],
  blocked: ['spam-block'],
  badreputation: ['spam-block', 'rate-limited'],
  requireptr: ['reverse-dns'],
  authfailure: ['authentication'],
  rejected: ['sender-rejected', 'policy'],
  policyviolation: ['policy', 'content'],
  securityerror: ['policy', 'tls', 'credentials', 'content'],
  spamdetected: ['spam-content'],
  contenterror: ['content'],
  notcompliantrfc: ['content'],
  mesgtoobig: ['too-large'],
  norelaying: ['relay-denied'],
  toomanyconn: ['rate-limited'],
  speeding: ['rate-limited'],
  greylisted: ['greylisted'],
  systemerror: ['remote-error'],
  systemfull: ['remote-error'],
  mailererror: ['remote-error'],
  syntaxerror: ['protocol'],
  onhold: ['unclassified'],
  undefined: ['unclassified'],
}

/** The program or provider that wrote a mail: its file's name without the number. */
export function providerOf(name) {
  return name.replace(/-\d+\.\w+$/, '')
}

function parity(text) {
  return createHash('sha256').update(text).digest()[0] % 2 === 0 ? 'even' : 'odd'
}

/**
 * Halves of the mail, and halves of the providers. What was tuned on one half of the mail has seen all providers;
 * of a half of the providers it has seen none.
 */
export const splits = [
  { title: 'all', of: () => true },
  { title: 'mail even', of: (name) => parity(name) === 'even' },
  { title: 'mail odd', of: (name) => parity(name) === 'odd' },
  { title: 'providers even', of: (name) => parity(providerOf(name)) === 'even' },
  { title: 'providers odd', of: (name) => parity(providerOf(name)) === 'odd' },
]

export const percent = (count, of) => `${count}/${of} (${of === 0 ? '-' : ((100 * count) / of).toFixed(1)} %)`

/** Rows of figures, a column for each split; `figures`: title to a function of the rows of a split. */
export function printTable(rows, figures, columns = splits) {
  const lines = figures.map(([title, of]) => [
    title,
    ...columns.map((column) => of(rows.filter(({ name }) => column.of(name)))),
  ])
  const cells = [['', ...columns.map(({ title }) => title)], ...lines]
  const widths = cells[0].map((_, at) => Math.max(...cells.map((line) => line[at].length)))
  for (const line of cells)
    console.log(
      line
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
}

/** The splits that the options name; all of them without any. */
export function chosenSplits({ half, providers }) {
  if (half === undefined && providers === undefined) return splits
  return splits.filter(({ title }) => title === `mail ${half}` || title === `providers ${providers}`)
}

/** A line a provider, the one with the most misses first. */
export function printProviders(rows, isRight) {
  const names = [...new Set(rows.map(({ name }) => providerOf(name)))]
  const table = names.map((provider) => rows.filter(({ name }) => providerOf(name) === provider))
  const missed = (list) => list.filter((row) => !isRight(row)).length
  for (const list of table.sort((a, b) => missed(b) - missed(a))) {
    console.log(`${providerOf(list[0].name).padEnd(24)} ${percent(list.length - missed(list), list.length)}`)
  }
}
