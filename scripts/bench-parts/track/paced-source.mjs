// Submits messages at a fixed rate over kept SMTP sessions: PORT RATE SECONDS. Prints how many were accepted.
import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'

const [port, rate, seconds] = process.argv.slice(2).map(Number)
const SESSIONS = 10
const message = `From: <app@bench.test>\r\nTo: <someone@sink.test>\r\nSubject: a message\r\n\r\n${`${'X'.repeat(78)}\r\n`.repeat(50)}.\r\n`
const steps = ['MAIL FROM:<app@bench.test>\r\n', 'RCPT TO:<someone@sink.test>\r\n', 'DATA\r\n', message]

let accepted = 0
let due = 0
const idle = []
const sessions = Array.from({ length: SESSIONS }, open)
const begun = performance.now()
const timer = setInterval(() => {
  const elapsed = (performance.now() - begun) / 1000
  due = Math.floor(Math.min(elapsed, seconds) * rate)
  while (begunMessages < due && idle.length > 0) idle.pop()()
  if (elapsed < seconds + 1) return
  clearInterval(timer)
  process.stdout.write(JSON.stringify({ accepted, seconds }))
  for (const socket of sessions) socket.destroy()
}, 2)
let begunMessages = 0

function open() {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  let step = -2
  let held = ''
  const begin = () => {
    begunMessages += 1
    step = 0
    socket.write(steps[0])
  }
  socket.on('error', failed)
  socket.on('data', (chunk) => {
    held += chunk.toString('latin1')
    if (!/^(?:\d{3}-.*\r\n)*\d{3} .*\r\n$/.test(held)) return
    if (!/^[23]/.test(held)) failed(new Error(held.trim()))
    held = ''
    step += 1
    if (step === -1) socket.write('EHLO bench.test\r\n')
    else if (step > 0 && step < steps.length) socket.write(steps[step])
    else {
      if (step === steps.length) accepted += 1
      idle.push(begin)
    }
  })
  return socket
}

function failed(error) {
  process.stderr.write(`paced-source: ${error.message}\n`)
  process.exit(1)
}
