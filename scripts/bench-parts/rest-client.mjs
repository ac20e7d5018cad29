// Posts emails over kept HTTPS connections: PORT CA-FILE CONNECTIONS MESSAGES; the key in BENCH_API_KEY.
//
// It shares the machine with the measured daemon, so it is minimal: one request, built
// once, over bare TLS sockets, and each answer is read only as far as needed to find its end. All
// handshakes are over before the clock starts. Any answer but 201 ends it with status 1.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { connect } from 'node:tls'

const [port, caFile, connections, messages] = process.argv.slice(2)
const ca = readFileSync(caFile)
const body = JSON.stringify({
  from: 'Bench <app@bench.test>',
  to: ['someone@sink.test'],
  subject: 'A message',
  html: `<p>${'Some words of a message that an application sends. '.repeat(44)}</p>`,
  text: 'Some words of a message that an application sends. '.repeat(26),
})
const request = Buffer.from(
  [
    'POST /v1/emails HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${process.env['BENCH_API_KEY']}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n'),
)

const sockets = await Promise.all(Array.from({ length: Number(connections) }, open))
let left = Number(messages)
const before = process.cpuUsage()
const begun = performance.now()
await Promise.all(sockets.map(requests))
const seconds = (performance.now() - begun) / 1000
const { user, system } = process.cpuUsage(before)
process.stdout.write(JSON.stringify({ seconds, cpu: (user + system) / 1_000_000 }))
for (const socket of sockets) socket.destroy()

/** The certificate is checked against the file, but not its names: it has the server's host name. */
async function open() {
  const options = { host: '127.0.0.1', port: Number(port), ca, checkServerIdentity: () => undefined }
  const socket = connect(options).setNoDelay(true)
  await once(socket, 'secureConnect')
  return socket
}

/** Sends one request after the other; resolves with the last answer. */
function requests(socket) {
  return new Promise((resolve) => {
    let held = ''
    const next = () => {
      held = ''
      if (left === 0) return resolve()
      left -= 1
      socket.write(request)
    }
    socket.on('error', failed)
    socket.on('close', () => failed(new Error('the server closed the connection')))
    socket.on('data', (chunk) => {
      held += chunk.latin1Slice()
      if (!isWhole(held)) return
      if (!held.startsWith('HTTP/1.1 201 ')) failed(new Error(held))
      next()
    })
    next()
  })
}

function isWhole(answer) {
  const end = answer.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /^content-length: *(\d+)/im.exec(answer.slice(0, end))
  return length === null ? answer.endsWith('\r\n0\r\n\r\n') : answer.length >= end + 4 + Number(length[1])
}

function failed(error) {
  if (left === 0 && error.message.startsWith('the server closed')) return
  process.stderr.write(`rest-client: ${error.message}\n`)
  process.exit(1)
}
