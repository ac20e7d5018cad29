// The clients that send messages, and the one that polls /healthz.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { connect } from 'node:net'

const PAUSE = 300

/** Temporary refusals, after which the message is sent again. */
export const refusals = { count: 0 }

function pauseAfterRefusal() {
  refusals.count += 1
  return sleep(PAUSE)
}

/** `messages` times the same message over `sessions` at a time; repeats after a temporary refusal. */
export async function bring({ port, from, to, raw, messages, sessions }) {
  let left = messages
  const worker = async () => {
    while (left > 0) {
      left -= 1
      while (!(await brought({ port, from, to, raw }))) await pauseAfterRefusal()
    }
  }
  await Promise.all(Array.from({ length: sessions }, worker))
}

/** False: refused temporarily. */
async function brought({ port, from, to, raw }) {
  const socket = connect(port, '127.0.0.1')
  const replies = repliesOf(socket)
  try {
    const words = ['EHLO client.test', `MAIL FROM:<${from}> SIZE=${raw.length}`, `RCPT TO:<${to}>`, 'DATA']
    let reply = await replies()
    for (const word of words) {
      if (/^4/.test(reply)) return false
      if (!/^[23]/.test(reply)) throw new Error(reply)
      socket.write(`${word}\r\n`)
      reply = await replies()
    }
    if (!reply.startsWith('354')) return false
    socket.write(raw)
    socket.write('.\r\n')
    reply = await replies()
    if (/^5/.test(reply)) throw new Error(reply)
    return reply.startsWith('250')
  } finally {
    socket.destroy()
  }
}

function repliesOf(socket) {
  let held = ''
  let wake = () => undefined
  let closed = false
  socket.setEncoding('latin1')
  socket.on('data', (text) => {
    held += text
    wake()
  })
  const ended = () => {
    closed = true
    wake()
  }
  socket.on('error', ended).on('close', ended)
  return async () => {
    for (;;) {
      const last = /^\d{3} .*\r\n/m.exec(held)
      if (last !== null) {
        held = held.slice(last.index + last[0].length)
        return last[0]
      }
      if (closed) return '421 the connection closed'
      await new Promise((resolve) => {
        wake = resolve
      })
    }
  }
}

/** Emails of 15 MB, with two attachments. */
export async function postEmails(api, { messages, sessions }) {
  const content = Buffer.alloc(5_400_000, 'posthorn').toString('base64')
  const body = JSON.stringify({
    from: 'App <app@load.test>',
    to: ['someone@sink.test'],
    subject: 'large',
    text: 'A file is attached.',
    attachments: ['one.zip', 'two.zip'].map((filename) => ({ filename, content, content_type: 'application/zip' })),
  })
  let left = messages
  const worker = async () => {
    while (left > 0) {
      left -= 1
      for (;;) {
        const { status, text } = await asked(api, { method: 'POST', path: '/v1/emails', body })
        if (status === 201) break
        if (status !== 503 && status !== 429) throw new Error(`${status} ${text}`)
        await pauseAfterRefusal()
      }
    }
  }
  await Promise.all(Array.from({ length: sessions }, worker))
}

/** Until `work` is done. */
export async function askForHealth(api, work) {
  const times = []
  let over = false
  const asking = (async () => {
    while (!over) {
      const begun = performance.now()
      await asked(api, { method: 'GET', path: '/healthz' })
      times.push(performance.now() - begun)
      await sleep(20)
    }
  })()
  try {
    await work()
  } finally {
    over = true
  }
  await asking
  times.sort((a, b) => a - b)
  return { median: times[Math.floor(times.length / 2)] ?? 0, slowest: times.at(-1) ?? 0 }
}

let agent

function asked({ port, key, ca }, { method, path, body }) {
  agent ??= new Agent({ ca: readFileSync(ca), keepAlive: true, checkServerIdentity: () => undefined })
  const headers = {
    Authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
  }
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (piece) => {
        text += piece
      })
      answer.on('end', () => resolve({ status: answer.statusCode, text }))
      answer.on('error', () => resolve({ status: 503, text: 'the connection broke' }))
    })
    sent.on('error', () => resolve({ status: 503, text: 'the connection broke' }))
    sent.end(body)
  })
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
