// Submits numbered messages at a fixed rate over kept SMTP sessions: PORT RATE SECONDS. Prints each number with the time
// of the 250 that accepted it.
import { connect } from 'node:net'

const [port, rate, seconds] = process.argv.slice(2).map(Number)
const SESSIONS = 10
const run = `${process.pid}`
const body = `${'X'.repeat(78)}\r\n`.repeat(50)
const messageOf = (number) =>
  `From: <app@bench.test>\r\nTo: <someone@sink.test>\r\nSubject: a receipt\r\nX-Probe: ${number}\r\n\r\n${body}.\r\n`
const now = () => performance.timeOrigin + performance.now()

const accepted = []
const idle = []
let begunCount = 0
let openCount = 0
const sessions = Array.from({ length: SESSIONS }, open)
const begun = now()
const timer = setInterval(() => {
  const elapsed = (now() - begun) / 1000
  const due = Math.floor(Math.min(elapsed, seconds) * rate)
  while (begunCount < due && idle.length > 0) idle.pop()()
  if (elapsed < seconds || openCount > 0) return
  clearInterval(timer)
  process.stdout.write(JSON.stringify(accepted))
  for (const socket of sessions) socket.destroy()
}, 2)

function open() {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  let steps = ['EHLO bench.test\r\n']
  let number = null
  let held = ''
  const begin = () => {
    begunCount += 1
    openCount += 1
    number = `${run}-${begunCount}`
    steps = ['RCPT TO:<someone@sink.test>\r\n', 'DATA\r\n', messageOf(number)]
    socket.write('MAIL FROM:<app@bench.test>\r\n')
  }
  socket.on('error', failed)
  socket.on('data', (chunk) => {
    held += chunk.toString('latin1')
    if (!/^(?:\d{3}-.*\r\n)*\d{3} .*\r\n$/.test(held)) return
    if (!/^[23]/.test(held)) failed(new Error(held.trim()))
    held = ''
    const next = steps.shift()
    if (next !== undefined) {
      socket.write(next)
      return
    }
    if (number !== null) {
      accepted.push([number, now()])
      openCount -= 1
      number = null
    }
    idle.push(begin)
  })
  return socket
}

function failed(error) {
  process.stderr.write(`probe-source: ${error.message}\n`)
  process.exit(1)
}
