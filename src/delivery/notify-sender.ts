/**
 * Does this outcome want a delivery status notification, and if so, which one?
 *
 * Reports go to the envelope sender of what an app submitted by SMTP (REST clients have
 * events), as mail of the service with the null return path; about the service's own
 * mail there are none, so that nothing can go in circles (RFC 3464 section 2).
 *
 * A success is reported when asked for, and only where the next hop did not take the
 * request over (RFC 3461 section 5.2.2).
 */
import type { Address } from '../mail/address.js'
import { newMessageId } from '../mail/message-id.js'
import { buildDsn, type Dsn, wantsDsn } from '../messages/dsn.js'
import type { DsnKind, DsnRecipient } from '../messages/dsn-report.js'
import { dsnSubject } from '../messages/dsn-text.js'
import type { Email } from '../messages/email.js'
import { type Enqueued, enqueue } from '../messages/enqueue.js'
import { reasonSentence } from '../messages/replies/reasons.js'
import { serviceEmail } from '../messages/service-email.js'
import type { Attempted } from '../messages/settle.js'
import { uuidv7 } from '../platform/ids.js'
import type { Decision } from './decide-outcome.js'
import type { OutboundMessage } from './outbound-message.js'

export interface Notice {
  readonly enqueued: Enqueued
  readonly raw: Buffer
}

/** What an outcome is reported from. */
export interface Reported {
  readonly email: Email
  readonly raw: Buffer
  readonly message: Pick<OutboundMessage, 'recipient' | 'notify' | 'orcpt'>
}

export interface NoticeSettings {
  readonly hostname: string
  readonly mailFrom: Address
  readonly expireAfter: number
}

export type NotifySender = (about: Reported, attempted: Attempted, decision: Decision, now: number) => Notice | null

export function notifySender(settings: NoticeSettings): NotifySender {
  return ({ email, raw, message }, attempted, decision, now) => {
    const wanted = reportOf(decision)
    if (wanted === null || email.source !== 'smtp' || email.envelope_from === '') return null
    if (!wantsDsn(message.notify, wanted.kind)) return null
    const recipient: DsnRecipient = {
      address: message.recipient,
      orcpt: message.orcpt,
      ...wanted,
      diagnostic: attempted.response,
      remoteMta: isReply(attempted.response) ? attempted.mx : null,
      lastAttemptAt: attempted.endedAt,
      willRetryUntil: wanted.kind === 'delayed' ? attempted.entry.enqueued_at + settings.expireAfter : null,
    }
    return report(settings, email, raw, wanted.kind, recipient, now)
  }
}

/** A server's words begin with its code; ours, where none answered, do not. */
function isReply(response: string): boolean {
  return /^[2-5]\d\d(?: |$)/.test(response)
}

interface Wanted {
  readonly kind: DsnKind
  readonly action: DsnRecipient['action']
  readonly status: string
  readonly reason: string
}

function reportOf(decision: Decision): Wanted | null {
  switch (decision.kind) {
    case 'accepted': {
      const reason = 'The next server took the message.'
      return decision.dsnRelayed ? null : { kind: 'success', action: 'relayed', status: '2.0.0', reason }
    }
    case 'deferred':
      return decision.notice
        ? { kind: 'delayed', action: 'delayed', status: decision.status, reason: reasonSentence(decision.reason) }
        : null
    case 'failed':
      // The owner did that, and knows.
      if (decision.reason === 'domain-deleted') return null
      return { kind: 'failed', action: 'failed', status: decision.status, reason: reasonSentence(decision.reason) }
    case 'bounced':
      return { kind: 'failed', action: 'failed', status: decision.status, reason: reasonSentence(decision.reason) }
  }
}

function report(
  settings: NoticeSettings,
  email: Email,
  original: Buffer,
  kind: DsnKind,
  recipient: DsnRecipient,
  now: number,
): Notice {
  const id = uuidv7(now)
  const to = email.envelope_from as Address
  const messageId = newMessageId(id, settings.hostname)
  const dsn: Dsn = {
    kind,
    reportingMta: settings.hostname,
    arrivedAt: email.created_at,
    envid: email.envid,
    ret: email.ret,
    original,
    recipients: [recipient],
    from: settings.mailFrom,
    to,
    now,
    messageId,
  }
  const raw = buildDsn(dsn)
  const wanted = serviceEmail({ id, messageId, from: settings.mailFrom, to, subject: dsnSubject(dsn), now })
  return { enqueued: enqueue(wanted, [{ address: to, suppressed: false, notify: null, orcpt: null }], raw), raw }
}
