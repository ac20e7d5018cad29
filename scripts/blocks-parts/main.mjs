/**
 * Sends each input to a daemon, beside a client that asks for /healthz, and prints for each the longest block of the
 * main thread, the processor time of its longest turn, and the slowest answer to that client, in milliseconds; with the
 * status of the answer. Exits 1 if a turn takes more processor time than `--most` (20): on a machine that others use
 * too, a block is longer than that.
 *
 * Each input is sent `--rounds` times (3) and the best round counts: other programs of the machine make some worse.
 * `--beside FOLDER`: the same of another build. `--only TEXT`: inputs whose names have it.
 */
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sendMessage } from '../lib/smtp-client.mjs'
import { startDaemon } from './daemon.mjs'
import { buildInputs } from './inputs.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    beside: { type: 'string' },
    most: { type: 'string', default: '20' },
  },
})

/** Resolves to the first kilobytes that the server sends until it closes, or has answered `count` requests. */
function exchange(port, bytes, count = 1) {
  return new Promise((resolve) => {
    let text = ''
    let received = 0
    let size = Number.POSITIVE_INFINITY
    const socket = connect(port, '127.0.0.1')
    const end = () => {
      socket.destroy()
      resolve(text)
    }
    const late = setTimeout(end, 30_000)
    socket.on('data', (chunk) => {
      received += chunk.length
      if (count > 1 || text.length < 65_536) text += chunk.toString('latin1')
      if (count === 1 && size === Number.POSITIVE_INFINITY) size = lengthOf(text)
      const isComplete = count === 1 ? received >= size : text.split('HTTP/1.1 ').length > count && text.endsWith('}')
      if (isComplete) end()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(late)
      resolve(text)
    })
    socket.write(bytes)
  })
}

/** Of an answer, whose header is complete; infinite: that is not known yet, or not at all. */
function lengthOf(text) {
  const header = text.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, header + 2))?.[1]
  return header === -1 || length === undefined ? Number.POSITIVE_INFINITY : header + 4 + Number(length)
}

function requestOf({ api, key }, { method = 'POST', path, type = 'application/json', body = '', fields = [] }) {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${api}`, `Authorization: Bearer ${key}`]
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body)
  const rest = [`Content-Type: ${type}`, `Content-Length: ${bytes.length}`, ...fields, '', '']
  return Buffer.concat([Buffer.from([...lines, ...rest].join('\r\n')), bytes])
}

async function send(daemon, input) {
  if (input.message !== undefined) {
    const envelope = { port: daemon.smtp, from: 'app@blocks.test', to: 'bob@sink.test' }
    return (await sendMessage({ ...envelope, raw: input.message, wait: 30_000 }).catch(() => 'none')).slice(0, 4).trim()
  }
  const bytes = input.raw ?? requestOf(daemon, input)
  const text = await exchange(daemon.api, bytes, input.answers ?? 1)
  return text.split(' ', 2)[1] ?? 'none'
}

async function measure(daemon, input) {
  let best = { wall: 0, processor: Number.POSITIVE_INFINITY, health: 0, status: '' }
  const prepared = { ...input, ...(await input.prepare?.()), ...(input.build && { body: input.build() }) }
  for (let round = 0; round < Number(values.rounds); round += 1) {
    let isOver = false
    let health = 0
    const watch = (async () => {
      const probe = Buffer.from('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
      while (!isOver) {
        const begun = performance.now()
        await exchange(daemon.api, probe)
        health = Math.max(health, performance.now() - begun)
        await pause(2)
      }
    })()
    await pause(20)
    await daemon.readBlock()
    const status = await send(daemon, prepared)
    await pause(30)
    const block = await daemon.readBlock()
    isOver = true
    await watch
    if (block.processor < best.processor) best = { ...block, health, status }
  }
  return best
}

const builds = ['.', ...(values.beside === undefined ? [] : [values.beside])]
const daemons = await Promise.all(builds.map(startDaemon))
let tooLong = 0
try {
  const inputs = await Promise.all(daemons.map(buildInputs))
  console.log('milliseconds: longest block, its processor time, slowest /healthz; status of the answer\n')
  for (const [place, { name }] of inputs[0].entries()) {
    if (!name.includes(values.only)) continue
    const found = []
    for (const [which, daemon] of daemons.entries()) found.push(await measure(daemon, inputs[which][place]))
    const isTooLong = found[0].processor > Number(values.most)
    if (isTooLong) tooLong += 1
    const columns = found.map(
      ({ wall, processor, health, status }) =>
        `${[wall, processor, health].map((time) => time.toFixed(0).padStart(5)).join(' ')}  ${status}`,
    )
    console.log(`${isTooLong ? 'LONG' : '    '} ${name.padEnd(62)} ${columns.join('   | ')}`)
  }
} finally {
  await Promise.all(daemons.map((daemon) => daemon.stop()))
}
console.log(tooLong === 0 ? '\nnone blocks longer than it may' : `\n${tooLong} block longer than ${values.most} ms`)
process.exit(tooLong === 0 ? 0 : 1)
