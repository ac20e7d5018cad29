// Stands in for Postfix's smtp-source if that is not installed; takes the same options. It costs little, since it shares the machine
// with what is measured.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'

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
const commands = [`MAIL FROM:<${values.from}>\r\n`, `RCPT TO:<${values.to}>\r\n`, 'DATA\r\n', message]

let left = Number(values.messages)
for (let session = 0; session < Number(values.sessions); session += 1) open()

/** The greeting, the answer to EHLO, then those to the commands of each message. Every refusal is an error. */
function open() {
  let step = -2
  let held = ''
  const socket = connect({ host, port: Number(port), noDelay: true })
  socket.setEncoding('latin1').on('error', failed)
  socket.on('data', (text) => {
    held += text
    if (!/(?:^|\n)\d{3} [^\n]*\n$/.test(held)) return
    if (held[0] !== '2' && held[0] !== '3') failed(new Error(held.trim()))
    held = ''
    step += 1
    if (step === -1) socket.write('EHLO bench.test\r\n')
    else if (step > 0 && step < commands.length) socket.write(commands[step])
    else if (step <= commands.length) sendNext(step === commands.length)
  })
  const sendNext = (hasSent) => {
    const isOver = left === 0 || (hasSent && !values.d)
    step = isOver ? commands.length : 0
    if (isOver) socket.end('QUIT\r\n')
    if (hasSent && !values.d && left > 0) open()
    if (isOver) return
    left -= 1
    socket.write(commands[0])
  }
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
