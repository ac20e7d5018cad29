/**
 * Hands a message to the server in as many transactions as its recipients need, and says what remains: the server takes
 * a limited number of recipients at once.
 */
import { createHash } from 'node:crypto'
import { findFields, readFieldValue, scanHeaderOrEmpty, spliceHeader } from '../../base/mail/header-fields.js'
import { exitCodes, SendmailFault } from './exit-codes.js'
import { type HandedOver, handOver, type OutgoingMessage } from './hand-over.js'
import type { SendmailSettings } from './settings.js'

export const IDEMPOTENCY_FIELD = 'X-Service-Idempotency-Key'

/** Recipients of one transaction: RFC 5321 lets a server refuse more, and Posthorn does. */
const MAX_RECIPIENTS = 100

interface Delivery {
  /** What must be sent later. */
  readonly deferred: readonly OutgoingMessage[]
  /** Why recipients do not have the message yet, or will not have it. */
  readonly faults: readonly SendmailFault[]
}

export async function deliver(settings: SendmailSettings, message: OutgoingMessage): Promise<Delivery> {
  const deferred: OutgoingMessage[] = []
  const faults: SendmailFault[] = []
  for (const part of divide(message)) {
    const away = faults.find(({ isServerAway }) => isServerAway)
    const outcome = away === undefined ? await tryHandOver(settings, part) : describeFault(away, part)
    faults.push(...outcome.faults)
    if (outcome.deferred.length > 0) deferred.push(withRecipients(part, outcome.deferred))
  }
  return { deferred, faults }
}

async function tryHandOver(settings: SendmailSettings, part: OutgoingMessage): Promise<HandedOver> {
  try {
    return await handOver(settings, part)
  } catch (error) {
    if (error instanceof SendmailFault) return describeFault(error, part)
    throw error
  }
}

/** A fault that all recipients of the part have. */
function describeFault(fault: SendmailFault, { recipients }: OutgoingMessage): HandedOver {
  return { deferred: fault.exitCode === exitCodes.temporaryFailure ? recipients : [], faults: [fault] }
}

/** The messages of the transactions. */
export function divide(message: OutgoingMessage): readonly OutgoingMessage[] {
  const { recipients } = message
  const count = Math.ceil(recipients.length / MAX_RECIPIENTS)
  return Array.from({ length: count }, (_, place) => {
    return withRecipients(message, recipients.slice(place * MAX_RECIPIENTS, (place + 1) * MAX_RECIPIENTS))
  })
}

/**
 * The message to some of its recipients. A key stands for one message to the same recipients, so that these have another
 * one. It is the same at each attempt.
 */
function withRecipients(message: OutgoingMessage, recipients: readonly string[]): OutgoingMessage {
  if (recipients.length === message.recipients.length) return message
  const { raw } = message
  const header = scanHeaderOrEmpty(raw)
  const fields = findFields(header, IDEMPOTENCY_FIELD.toLowerCase())
  const keys = fields.map((field) => readFieldValue(raw, field))
  const digest = createHash('sha256').update([...keys, ...recipients].join('\n'))
  const prepend = keys.length === 0 ? '' : `${IDEMPOTENCY_FIELD}: sendmail-${digest.digest('hex')}\r\n`
  return { ...message, recipients, raw: spliceHeader(raw, header, { remove: fields, prepend }) }
}
