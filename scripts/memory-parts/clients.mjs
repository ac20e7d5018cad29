// The clients that send messages, and the one that polls /healthz.
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, isTemporary } from '../lib/https-client.mjs'
import { sendMessage } from '../lib/smtp-client.mjs'
import { percentiles } from '../lib/statistics.mjs'

/** Milliseconds until what was refused temporarily is sent again. */
const PAUSE = 300
/** Milliseconds that a message of 34 MB may take. */
const WAIT = 600_000

/** Temporary refusals, after which the message is sent again. */
export const refusals = { count: 0 }

/** Does `send` so many times over `sessions` at a time; each again until it does not resolve to false. */
async function repeat({ messages, sessions }, send) {
  let left = messages
  const worker = async () => {
    while (left > 0) {
      left -= 1
      while (!(await send())) {
        refusals.count += 1
        await sleep(PAUSE)
      }
    }
  }
  await Promise.all(Array.from({ length: sessions }, worker))
}

/** `messages` times the same message over `sessions` at a time. */
export function bring({ messages, sessions, ...message }) {
  return repeat({ messages, sessions }, async () => {
    const reply = await sendMessage({ ...message, wait: WAIT }).catch(() => '421 the connection closed')
    if (reply.startsWith('5')) throw new Error(reply)
    return reply.startsWith('250')
  })
}

/** Emails of 15 MB, with two attachments. */
export async function postEmails({ port, key }, { messages, sessions }) {
  const client = createClient({ port, key, sockets: sessions, wait: WAIT })
  const content = Buffer.alloc(5_400_000, 'posthorn').toString('base64')
  const body = JSON.stringify({
    from: 'App <app@load.test>',
    to: ['someone@sink.test'],
    subject: 'large',
    text: 'A file is attached.',
    attachments: ['one.zip', 'two.zip'].map((filename) => ({ filename, content, content_type: 'application/zip' })),
  })
  await repeat({ messages, sessions }, async () => {
    const answer = await client.ask('POST', '/v1/emails', body)
    if (answer === null || isTemporary(answer.status)) return false
    if (answer.status !== 201) throw new Error(`${answer.status} ${answer.body}`)
    return true
  })
  client.close()
}

/** Until `work` is done. */
export async function askForHealth({ port }, work) {
  const client = createClient({ port, wait: WAIT })
  const times = []
  let over = false
  const asking = (async () => {
    while (!over) {
      const begun = performance.now()
      await client.ask('GET', '/healthz')
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
  client.close()
  return percentiles(times)
}
