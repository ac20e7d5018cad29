// One SMTP conversation of a client, command by command.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

const MAX_WAIT = 25_000

/** `ask` sends a line (null: nothing) and resolves to the last line of the reply; it rejects when there is none in `wait` ms. */
export function openConversation({ port, tls = false, wait = MAX_WAIT }) {
  const socket = tls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1')
  let held = ''
  let wake = () => undefined
  let isClosed = false
  const close = () => {
    isClosed = true
    wake()
  }
  socket.setNoDelay(true)
  socket.on('error', close).on('close', close)
  socket.on('data', (chunk) => {
    held += chunk.toString('latin1')
    wake()
  })
  const ask = async (line) => {
    if (line !== null) socket.write(`${line}\r\n`)
    for (const end = Date.now() + wait; ; ) {
      const match = /^(?:\d{3}-.*\r\n)*(\d{3} .*)\r\n/.exec(held)
      if (match !== null) {
        held = held.slice(match[0].length)
        return match[1]
      }
      if (isClosed || Date.now() > end) throw new Error('no reply')
      await Promise.race([
        new Promise((done) => (wake = done)),
        sleep(Math.max(1, end - Date.now()), undefined, { ref: false }),
      ])
    }
  }
  return { ask, write: (bytes) => socket.write(bytes), close: () => socket.destroy() }
}

/** Sends one message to one recipient; resolves to the last reply, that of a refusal or of the message. */
export async function sendMessage({ port, from, to, raw, wait }) {
  const { ask, write, close } = openConversation({ port, wait })
  try {
    let reply = await ask(null)
    for (const line of ['EHLO client.test', `MAIL FROM:<${from}> SIZE=${raw.length}`, `RCPT TO:<${to}>`, 'DATA']) {
      if (!/^[23]/.test(reply)) return reply
      reply = await ask(line)
    }
    if (!reply.startsWith('354')) return reply
    write(raw)
    return await ask('\r\n.')
  } finally {
    close()
  }
}
