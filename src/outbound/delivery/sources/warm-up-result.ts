/**
 * Decides what a call of a provider's host means for the warm-up. Pure.
 *
 * A transaction counts whatever its end is, and so does a session that was refused because of us. Greylisting and
 * replies about the recipient or the message say nothing about a new address.
 */
import { assertNever } from '../../../base/mail/assert-never.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { classifyReply } from '../../../records/messages/replies/classify-reply.js'
import type { SendResult } from '../smtp/send-result.js'
import type { WarmUpResult } from './warm-ups.js'

/** Reasons that concern our address or domain, whatever the class of the reply. */
const aboutUs: ReadonlySet<Reason> = new Set(['spam-block', 'rate-limited', 'reverse-dns'])
/** Reasons that concern our address or domain only in a temporary reply. */
const aboutUsForNow: ReadonlySet<Reason> = new Set(['policy', 'spam-content', 'authentication', 'unclassified'])

export function warmUpResultOf(sent: SendResult): WarmUpResult {
  switch (sent.kind) {
    case 'accepted':
      return 'sent'
    case 'unsendable':
      return 'none'
    case 'failed':
      return ['rcpt', 'data', 'message'].includes(sent.stage) ? 'sent' : 'none'
    case 'refused': {
      const { kind, reason } = classifyReply(sent.stage, sent.reply)
      if (aboutUs.has(reason) || (kind === 'temporary' && aboutUsForNow.has(reason))) return 'deferred'
      return ['rcpt', 'data', 'message'].includes(sent.stage) ? 'sent' : 'none'
    }
    default:
      return assertNever(sent)
  }
}
