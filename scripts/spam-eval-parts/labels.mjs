/** The list of labelled messages: the label of each, and the client that sent it. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Columns path,label,client_ip,helo,mail_from; the last three may be empty or missing. */
export function labelledRows(file) {
  return readFileSync(file, 'utf8')
    .trim()
    .split(/\r?\n/)
    .slice(1)
    .map((line) => {
      const [path, label, clientAddress = '', helo = '', envelopeFrom = ''] = line.split(',')
      return { path, label, clientAddress, helo, envelopeFrom }
    })
}

export function halfOf(path) {
  return createHash('sha256').update(path).digest()[0] % 2 === 0 ? 'even' : 'odd'
}

/** By label: ham first, then what is to be caught. */
export function kindsOf(results) {
  const labels = ['ham', ...new Set(results.map(({ label }) => label).filter((label) => label !== 'ham'))]
  return new Map(labels.map((label) => [label, results.filter((one) => one.label === label)]))
}

/** Null: the client is unknown. */
export function originOf({ clientAddress, helo, envelopeFrom }) {
  return clientAddress === '' ? null : { clientAddress, helo, envelopeFrom, reverseName: null }
}
