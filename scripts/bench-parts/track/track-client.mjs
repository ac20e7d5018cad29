// Loads pixels and follows links at a fixed rate over kept HTTPS connections: PORT CA-FILE RATE SECONDS; the paths on
// standard input as a JSON list. Prints the milliseconds of each request.
//
// The times count from the moment at which a request was due, so a server that stalls is not flattered by a client that
// waits for it. The client's own delays count too, so it prints how late it sent what it could have sent (`late`), and
// the delays of its event loop.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { json } from 'node:stream/consumers'
import { connect } from 'node:tls'

const [port, caFile, rate, seconds] = process.argv.slice(2)
const CONNECTIONS = 50
const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const ca = readFileSync(caFile)
const paths = await json(process.stdin)
const total = Number(rate) * Number(seconds)
const gap = 1000 / Number(rate)
const requests = paths.map((path) =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUser-Agent: ${agent}\r\n\r\n`),
)
const EMPTY_LINE = Buffer.from('\r\n\r\n')
const STATUS_AT = 'HTTP/1.1 '.length
/** Bytes of the body by the first digit of the status: a pixel, or a redirect. */
const BODY_SIZES = new Map([
  ['2'.charCodeAt(0), 43],
  ['3'.charCodeAt(0), 0],
])

// Each connection in turn: the server closes those that send nothing.
const idle = await Promise.all(Array.from({ length: CONNECTIONS }, open))
const times = new Float64Array(total)
const late = new Float64Array(total)
let due = 0
let sent = 0
let answered = 0
const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()
const before = process.cpuUsage()
const begun = performance.now()
const timer = setInterval(() => {
  const now = performance.now() - begun
  due = Math.min(total, Math.floor(now / gap) + 1)
  while (sent < due && idle.length > 0) {
    late[sent] = now - sent * gap
    idle.shift()()
  }
}, 1)

async function open() {
  const buffer = Buffer.alloc(16_384)
  const onread = { buffer, callback: (length) => read(length) }
  const socket = connect({ host: '127.0.0.1', port: Number(port), ca, checkServerIdentity: () => undefined, onread })
  socket.setNoDelay(true)
  await once(socket, 'secureConnect')
  let held = null
  let number = 0
  const send = () => {
    number = sent
    sent += 1
    socket.write(requests[number % requests.length])
  }
  const read = (length) => {
    const answer = held === null ? buffer.subarray(0, length) : Buffer.concat([held, buffer.subarray(0, length)])
    const end = answer.indexOf(EMPTY_LINE)
    const size = BODY_SIZES.get(answer[STATUS_AT])
    if (end !== -1 && size === undefined) failed(new Error(answer.latin1Slice()))
    const isComplete = end !== -1 && answer.length >= end + EMPTY_LINE.length + size
    held = isComplete ? null : Buffer.from(answer)
    if (!isComplete) return true
    times[number] = performance.now() - begun - number * gap
    answered += 1
    if (answered === total) finish()
    else if (sent < due) send()
    else idle.push(send)
    return true
  }
  socket.on('error', failed)
  socket.on('close', () => failed(new Error('the server closed the connection')))
  return send
}

function finish() {
  clearInterval(timer)
  delays.disable()
  const { user, system } = process.cpuUsage(before)
  const report = {
    times: [...times],
    late: [...late],
    loopDelay: { p50: delays.percentile(50) / 1e6, p99: delays.percentile(99) / 1e6 },
    cpu: (user + system) / 1e6,
  }
  process.stdout.write(JSON.stringify(report), () => process.exit(0))
}

function failed(error) {
  if (answered === total) return
  process.stderr.write(`track client: ${error.message}\n`)
  process.exit(1)
}
