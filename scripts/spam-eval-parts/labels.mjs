/** The list of labelled messages: the label of each, and the client that sent it; and the messages, parsed as by the daemon. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MimeReader } from '../../dist/src/records/messages/mime/mime-parts.js'

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

/** The rows with the bytes and the parts of their messages; those that cannot be read are named on standard error. */
export async function readLabelled(dir, rows) {
  const reader = new MimeReader()
  const messages = []
  for (const row of rows) {
    const raw = readFileSync(join(dir, row.path))
    const result = await reader.read('eval', () => raw)
    if (result.kind !== 'parts') console.error(`${row.path}: ${result.message}`)
    else messages.push({ ...row, raw, parts: result.parts, half: halfOf(row.path) })
  }
  await reader.close()
  return messages
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
