/**
 * Mail as another server delivers it to the MX listener of a test daemon.
 *
 *     const reply = await deliverInbound(t, app, { to: ['info@home.test'], raw: inboundText({ from: 'ann@b.test' }) })
 *     const email = await waitUntilProcessed(app, idOfReply(reply))
 */
import type { Test } from 'tap'
import { formatMessageDate } from '../../../src/base/mail/message-date.js'
import type { TestDaemon } from '../daemon/test-daemon.js'
import { waitUntil } from '../wait-until.js'
import { type Dialogue, dial } from './smtp-dialogue.js'

type InboundRecord = Readonly<Record<string, unknown>>

interface InboundMessage {
  /** Envelope sender; empty: the null sender. */
  readonly from?: string
  readonly to: readonly string[]
  readonly helo?: string
  /** Header and body with CRLF line ends, the last one included. */
  readonly raw: string
  readonly localAddress?: string
}

/** The reply to the last command that was sent. */
export async function deliverInbound(t: Test, app: TestDaemon, mail: InboundMessage): Promise<string> {
  const { from = 'ann@b.test', to, helo = 'mx.b.test', raw, localAddress } = mail
  const client = await openMxSession(t, app, localAddress)
  await client.sendCommand(`EHLO ${helo}`)
  let reply = await client.sendCommand(`MAIL FROM:<${from}>`)
  for (const address of to) {
    if (!reply.startsWith('250')) return reply
    reply = await client.sendCommand(`RCPT TO:<${address}>`)
  }
  if (!reply.startsWith('250')) return reply
  reply = await client.sendCommand('DATA')
  if (!reply.startsWith('354')) return reply
  return client.sendCommand(`${raw.replace(/^\./gm, '..')}.`)
}

/** A connection whose greeting has been read. */
export async function openMxSession(t: Test, app: TestDaemon, localAddress?: string): Promise<Dialogue> {
  const port = app.daemon.mx[0]?.port
  if (port === undefined) throw new Error('no MX port')
  const client = await dial(port, localAddress === undefined ? {} : { localAddress })
  t.teardown(() => client.end())
  await client.readReply()
  return client
}

/** Of today: an old date has points. */
const date = `Date: ${formatMessageDate(Date.now())}`

export function inboundText({
  from = 'ann@b.test',
  to = 'info@home.test',
  subject = 'hello',
  fields = [] as string[],
} = {}): string {
  const id = `<${subject.replace(/\W/g, '')}@b.test>`
  const header = [`From: Ann <${from}>`, `To: ${to}`, `Subject: ${subject}`, `Message-ID: ${id}`, ...fields]
  return [...header, date, '', 'How do you do?', ''].join('\r\n')
}

/** Throws if the message was refused. */
export function idOfReply(reply: string): string {
  const id = /^250 2\.0\.0 Ok: queued as ([0-9a-f-]{36})$/.exec(reply)?.[1]
  if (id === undefined) throw new Error(`refused: ${reply}`)
  return id
}

/** The record as the API shows it, once it was processed. */
export async function waitUntilProcessed(app: TestDaemon, id: string, key = app.key): Promise<InboundRecord> {
  return waitUntil(`${id} is processed`, async () => {
    const answer = await app.rest('GET', `/v1/inbound/${id}`, { key })
    const record = answer.json<InboundRecord>()
    return answer.status === 200 && record['status'] !== 'received' ? record : null
  })
}
