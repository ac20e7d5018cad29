// Stands in for Postfix's smtp-source if that is not installed; takes the same options.
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
/** The command after each reply. */
const steps = [`MAIL FROM:<${values.from}>\r\n`, `RCPT TO:<${values.to}>\r\n`, 'DATA\r\n', message]

let left = Number(values.messages)
for (let session = 0; session < Number(values.sessions); session += 1) open()

function open() {
  const socket = connect(Number(port), host).setNoDelay(true)
  let step = -2
  let held = ''
  socket.on('error', failed)
  socket.on('data', (chunk) => {
    held += chunk.toString('latin1')
    if (!/^(?:\d{3}-.*\r\n)*\d{3} .*\r\n$/.test(held)) return
    if (!/^[23]/.test(held)) failed(new Error(held.trim()))
    held = ''
    step += 1
    if (step === -1) socket.write('EHLO bench.test\r\n')
    else if (step > 0 && step < steps.length) socket.write(steps[step])
    else if (step === 0) begin()
    else end()
  })
  const quit = () => socket.removeAllListeners('data').resume().end('QUIT\r\n')
  const begin = () => {
    if (left === 0) return quit()
    left -= 1
    step = 0
    socket.write(steps[0])
  }
  const end = () => {
    if (values.d) return begin()
    quit()
    if (left > 0) open()
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
