/** What lines of the log say of refusals and faults: short, whatever the client sent. */
import { formatForDisplay } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import type { ProtocolFault, SmtpReply } from './protocol-fault.js'
import type { SessionFacts } from './session-gate.js'
import { replyText } from './smtp-reply.js'

export interface RefusalFacts {
  readonly reason: string
  readonly reply: string
  readonly recipient?: unknown
}

/** `recipient`: where it was that one alone. */
export function refusalFacts(error: Refusal | ProtocolFault, reply: SmtpReply): RefusalFacts {
  const text = `${reply.code} ${replyText(reply)}`
  if (!(error instanceof Refusal)) return { reason: 'protocol', reply: text }
  const { recipient, reason = error.kind } = error.details
  return { reason: String(reason), reply: text, ...(recipient === undefined ? {} : { recipient }) }
}

/** smtp-server writes into the error whose it is: at once, or for a handshake into its details. */
export interface ClientError extends Error {
  readonly remoteAddress?: string
  readonly meta?: { readonly remoteAddress?: string }
}

export function clientFaultFacts({
  message,
  remoteAddress,
  meta,
}: ClientError): SessionFacts & { readonly reason: string } {
  return { client: remoteAddress ?? meta?.remoteAddress ?? '', reason: formatForDisplay(message) }
}
