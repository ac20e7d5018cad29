// Stands in for Postfix's smtp-source if that is not installed; takes the same options.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { openSession } from './smtp-session.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    d: { type: 'boolean', short: 'd', default: false },
    sessions: { type: 'string', short: 's' },
    messages: { type: 'string', short: 'm' },
    length: { type: 'string', short: 'l' },
    from: { type: 'string', short: 'f' },
    to: { type: 'string', short: 't' },
    file: { type: 'string', short: 'F' },
  },
})
const [host, port] = positionals[0].split(':')
const message = values.file === undefined ? generate() : read(values.file)

let left = Number(values.messages)
for (let session = 0; session < Number(values.sessions); session += 1) open()

function open() {
  openSession({ ...{ host, port: Number(port), from: values.from, to: values.to }, message, onFree, onError: failed })
}

function onFree(session, hasSent) {
  if (left === 0 || (hasSent && !values.d)) session.quit()
  if (left === 0) return
  if (hasSent && !values.d) return open()
  left -= 1
  session.send()
}

function failed(error) {
  process.stderr.write(`own-source: ${error.message}\n`)
  process.exit(1)
}

function generate() {
  const line = `${'X'.repeat(78)}\r\n`
  const text = line.repeat(Math.ceil(Number(values.length) / line.length))
  return `From: <${values.from}>\r\nTo: <${values.to}>\r\nSubject: a message\r\n\r\n${text}.\r\n`
}

function read(file) {
  return `${readFileSync(file, 'latin1').replace(/\r?\n/g, '\r\n').replace(/^\./gm, '..')}.\r\n`
}
