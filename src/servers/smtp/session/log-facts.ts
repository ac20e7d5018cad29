/** The fields of log lines about sessions, refusals and faults. Texts of the client are printable and short. */
import { type Address, formatForDisplay } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { SessionFacts } from './session-gate.js'
import { formatReplyText, ProtocolFault, type SmtpReply } from './smtp-reply.js'
import type { SessionConnection } from './smtp-session.js'

/** `from` is the sender in MAIL. Undefined if there is no transaction. */
export function sessionFactsOf(
  { id, remoteAddress, helo }: Pick<SessionConnection, 'id' | 'remoteAddress' | 'helo'>,
  from: Address | '' | undefined,
): SessionFacts {
  return {
    client: remoteAddress,
    session: id,
    ...(helo === '' ? {} : { helo: formatForDisplay(helo) }),
    ...(from === undefined ? {} : { from }),
  }
}

/** The message is good without it; who sends it may want to know. */
export function noteMailboxLine(
  log: { readonly info: (facts: SessionFacts, message: string) => void },
  facts: SessionFacts,
): void {
  log.info({ ...facts }, 'a line of a mailbox file was dropped')
}

/** False if it is a fault of ours. */
export function isClientFault(error: unknown): error is Refusal | ProtocolFault {
  return error instanceof Refusal || error instanceof ProtocolFault
}

interface RefusalFacts {
  readonly reason: string
  readonly reply: string
  /** Present when the refusal concerns one recipient. */
  readonly recipient?: unknown
}

export function refusalFactsOf(error: Refusal | ProtocolFault, reply: SmtpReply): RefusalFacts {
  const text = `${reply.code} ${formatReplyText(reply)}`
  if (!(error instanceof Refusal)) return { reason: 'protocol', reply: text }
  const { recipient, reason = error.kind } = error.details
  return { reason: String(reason), reply: text, ...(recipient === undefined ? {} : { recipient }) }
}
