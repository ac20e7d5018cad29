/** An SMSC in this process: the server side of the package smpp, with answers that a test can replace. */
import { once } from 'node:events'
import smpp, { type PDU, type Session } from 'smpp'
import type { Test } from 'tap'
import { isRecord } from '../../../src/base/platform/records.js'
import { waitUntil } from '../wait-until.js'

export type SmscPdu = PDU & Readonly<Record<string, unknown>>
/** Undefined: no answer. */
type Answer = (pdu: SmscPdu, session: Session) => PDU | undefined

interface SmscOptions {
  /** By command, instead of the usual answers. */
  readonly answers?: Readonly<Record<string, Answer>>
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly port?: number
}

export interface Smsc {
  readonly port: number
  /** Units of the clients, oldest first. */
  readonly received: readonly SmscPdu[]
  readonly listReceived: (command: string) => readonly SmscPdu[]
  readonly sessions: readonly Session[]
  /** The newest session, once a bind was received on it. */
  readonly waitForBind: (count?: number) => Promise<Session>
  readonly stop: () => Promise<void>
}

let lastId = 0

const usualAnswers: Readonly<Record<string, Answer>> = {
  bind_transceiver: (pdu) => pdu.response({ system_id: 'smsc' }),
  submit_sm: (pdu) => {
    lastId += 1
    return pdu.response({ message_id: `message-${lastId}` })
  },
  enquire_link: (pdu) => pdu.response(),
  unbind: (pdu) => pdu.response(),
}

export async function openSmsc(t: Test, { answers = {}, tls = undefined, port = 0 }: SmscOptions = {}): Promise<Smsc> {
  const received: SmscPdu[] = []
  const sessions: Session[] = []
  const server = smpp.createServer({ ...tls }, (session) => {
    sessions.push(session)
    session.on('error', () => session.destroy())
    session.on('pdu', (pdu) => {
      received.push(pdu)
      const answer = (answers[pdu.command] ?? usualAnswers[pdu.command])?.(pdu, session)
      if (answer !== undefined) session.send(answer)
    })
  })
  server.on('error', () => undefined)
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const stop = async (): Promise<void> => {
    for (const session of sessions) session.destroy()
    if (server.listening) await once(server.close(), 'close')
  }
  t.teardown(stop)
  const listReceived = (command: string): readonly SmscPdu[] => received.filter((pdu) => pdu.command === command)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    received,
    listReceived,
    sessions,
    waitForBind: async (count = 1) => {
      await waitUntil('a bind', () => listReceived('bind_transceiver').length >= count)
      return sessions.at(-1) ?? waitUntil('a session', () => sessions.at(-1))
    },
    stop,
  }
}

/** The octets of `short_message` without what the codec makes of them: Latin-1, as for `data_coding` 0. */
export function messageOf(pdu: SmscPdu | undefined): { readonly header: Buffer; readonly text: unknown } {
  const message: unknown = pdu?.['short_message']
  if (!isRecord(message)) throw new Error('a unit without a message')
  const headers: unknown = message['udh']
  const parts = Array.isArray(headers) ? headers.filter((part): part is Buffer => Buffer.isBuffer(part)) : []
  return { header: Buffer.concat(parts), text: message['message'] }
}

/** A delivery receipt in the text form, as most SMSCs write it. */
export function buildReceipt(text: string, more: Readonly<Record<string, string | number>> = {}): PDU {
  return new smpp.PDU('deliver_sm', {
    esm_class: 4,
    source_addr: '41791234567',
    destination_addr: 'Posthorn',
    data_coding: 0,
    short_message: Buffer.from(text, 'latin1'),
    ...more,
  })
}

export function buildPdu(command: string, fields: Readonly<Record<string, string | number | Buffer>> = {}): PDU {
  return new smpp.PDU(command, fields)
}
