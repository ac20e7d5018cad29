// Loads pixels and follows links at a fixed rate over kept HTTPS connections: PORT CA-FILE RATE SECONDS; the paths on
// standard input as a JSON list. Prints the milliseconds of each request.
//
// The times count from the moment at which a request was due, so a server that stalls is not flattered by a client that
// waits for it.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { json } from 'node:stream/consumers'
import { connect } from 'node:tls'

const [port, caFile, rate, seconds] = process.argv.slice(2)
const CONNECTIONS = 50
const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const ca = readFileSync(caFile)
const paths = await json(process.stdin)
const total = Number(rate) * Number(seconds)
const requests = paths.map((path) =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUser-Agent: ${agent}\r\n\r\n`),
)
// Each connection in turn: the server closes those that send nothing.
const idle = await Promise.all(Array.from({ length: CONNECTIONS }, open))
const waiting = []
const times = []
let due = 0
const begun = performance.now()
const timer = setInterval(() => {
  const now = performance.now()
  for (; due < total && begun + (due / rate) * 1000 <= now; due += 1) waiting.push(due)
  while (waiting.length > 0 && idle.length > 0) idle.shift()(waiting.shift())
}, 1)

async function open() {
  const socket = connect({ host: '127.0.0.1', port: Number(port), ca, checkServerIdentity: () => undefined })
  socket.setNoDelay(true)
  await once(socket, 'secureConnect')
  let held = ''
  let number = 0
  const send = (next) => {
    number = next
    held = ''
    socket.write(requests[number % requests.length])
  }
  socket.on('error', failed)
  socket.on('close', () => failed(new Error('the server closed the connection')))
  socket.on('data', (chunk) => {
    held += chunk.latin1Slice()
    const end = held.indexOf('\r\n\r\n')
    const length = /^content-length: *(\d+)/im.exec(held.slice(0, Math.max(0, end)))
    if (end === -1 || length === null || held.length < end + 4 + Number(length[1])) return
    if (!/^HTTP\/1\.1 (?:200|302) /.test(held)) failed(new Error(held))
    times.push(performance.now() - (begun + (number / rate) * 1000))
    if (times.length === total) finish()
    else if (waiting.length > 0) send(waiting.shift())
    else idle.push(send)
  })
  return send
}

function finish() {
  clearInterval(timer)
  process.stdout.write(JSON.stringify({ times, seconds: (performance.now() - begun) / 1000 }), () => process.exit(0))
}

function failed(error) {
  if (times.length === total) return
  process.stderr.write(`track client: ${error.message}\n`)
  process.exit(1)
}
