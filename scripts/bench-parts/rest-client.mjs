// Sends requests over kept HTTPS connections: PORT CA-FILE CONNECTIONS; the key in BENCH_API_KEY; on standard
// input `{ status, requests: [{ method, path, body }], count }` as JSON, where `count` is how many are sent, in turns if they are
// fewer (absent: each once). Prints the milliseconds of each request, the seconds of all, and its own CPU time.
//
// Minimal, because it shares the machine with the measured daemon: bare TLS sockets, requests
// built before the clock starts, and each answer is read only as far as needed to find its
// end. Any other status ends it with status 1.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { json } from 'node:stream/consumers'
import { connect } from 'node:tls'

const [port, caFile, connections] = process.argv.slice(2)
const ca = readFileSync(caFile)
const { status, requests, count = requests.length } = await json(process.stdin)
const texts = requests.map(textOf)
const sockets = await Promise.all(Array.from({ length: Number(connections) }, open))
const times = []
let next = 0
const before = process.cpuUsage()
const begun = performance.now()
await Promise.all(sockets.map(askAll))
const seconds = (performance.now() - begun) / 1000
const { user, system } = process.cpuUsage(before)
process.stdout.write(JSON.stringify({ seconds, times, cpu: (user + system) / 1_000_000 }))
for (const socket of sockets) socket.destroy()

function textOf({ method, path, body }) {
  const text = body === undefined ? '' : JSON.stringify(body)
  const ofBody =
    body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${process.env['BENCH_API_KEY']}`,
  ]
  return Buffer.from([...head, ...ofBody, '', text].join('\r\n'))
}

/** The certificate is checked against the file, but not its names: it has the server's host name. */
async function open() {
  const socket = connect({ host: '127.0.0.1', port: Number(port), ca, checkServerIdentity: () => undefined })
  socket.setNoDelay(true)
  await once(socket, 'secureConnect')
  return socket
}

/** Sends one request after the other; resolves with the last answer. */
function askAll(socket) {
  return new Promise((resolve) => {
    let held = []
    let asked = 0
    const ask = () => {
      held = []
      if (next === count) return resolve()
      const text = texts[next % texts.length]
      next += 1
      asked = performance.now()
      socket.write(text)
    }
    socket.on('error', failed)
    socket.on('close', () => failed(new Error('the server closed the connection')))
    socket.on('data', (chunk) => {
      held.push(chunk)
      const answer = Buffer.concat(held)
      if (!isWhole(answer)) return
      times.push(performance.now() - asked)
      if (!answer.subarray(0, 13).equals(Buffer.from(`HTTP/1.1 ${status} `))) failed(new Error(answer.toString()))
      ask()
    })
    ask()
  })
}

function isWhole(answer) {
  const end = answer.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /^content-length: *(\d+)/im.exec(answer.latin1Slice(0, end))
  return length === null
    ? answer.subarray(-5).equals(Buffer.from('0\r\n\r\n'))
    : answer.length >= end + 4 + Number(length[1])
}

function failed(error) {
  if (times.length === count) return
  process.stderr.write(`rest-client: ${error.message}\n`)
  process.exit(1)
}
