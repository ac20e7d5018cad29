/**
 * Builds the delivery status notification for an outcome, if the outcome requires one.
 *
 * `messages/dsn/sender-notice` decides who gets one. A success is reported if the client requested it and the next hop
 * did not take over the request (RFC 3461 section 5.2.2).
 */
import { describeReason } from '../../../base/mail/reasons.js'
import type { DsnKind, DsnRecipient } from '../../../records/messages/dsn/dsn-report.js'
import { buildSenderNotice, shouldNotifySender } from '../../../records/messages/dsn/sender-notice.js'
import type { Email } from '../../../records/messages/email/email.js'
import type { AttemptRecord } from '../../../records/messages/queue/settle.js'
import type { ServiceNotice, ServiceSender } from '../../../records/messages/service-email.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import type { Decision } from './decide-outcome.js'

/** The message whose outcome is reported. */
export interface ReportedMessage {
  readonly email: Email
  readonly readRaw: () => Buffer
  readonly message: Pick<OutboundMessage, 'recipient' | 'notify' | 'orcpt'>
}

interface NotifySettings extends ServiceSender {
  readonly expireAfter: () => number
}

export class SenderNoticeBuilder {
  constructor(private readonly settings: NotifySettings) {}

  /** Returns null if no notification is due. */
  build(
    { email, readRaw, message }: ReportedMessage,
    record: AttemptRecord,
    decision: Decision,
    now: number,
  ): ServiceNotice | null {
    const { settings } = this
    const dsnFields = dsnFieldsOf(decision)
    if (dsnFields === null || !shouldNotifySender({ email, notify: message.notify }, dsnFields.kind)) return null
    const recipient: DsnRecipient = {
      address: message.recipient,
      orcpt: message.orcpt,
      ...dsnFields,
      diagnostic: record.response,
      remoteMta: isReply(record.response) ? record.mx : null,
      lastAttemptAt: record.endedAt,
      willRetryUntil: dsnFields.kind === 'delayed' ? record.entry.enqueued_at + settings.expireAfter() : null,
    }
    const subject = { email, raw: readRaw(), notify: message.notify }
    return buildSenderNotice(settings, subject, { kind: dsnFields.kind, recipient }, now)
  }
}

/** The reply of a server begins with its code; texts of this server do not. */
function isReply(response: string): boolean {
  return /^[2-5]\d\d(?: |$)/.test(response)
}

interface DsnFields {
  readonly kind: DsnKind
  readonly action: DsnRecipient['action']
  readonly status: string
  readonly reason: string
}

function dsnFieldsOf(decision: Decision): DsnFields | null {
  switch (decision.kind) {
    case 'accepted': {
      const reason = 'The next server accepted the message.'
      return decision.dsnRelayed ? null : { kind: 'success', action: 'relayed', status: '2.0.0', reason }
    }
    case 'deferred':
      return decision.notice
        ? { kind: 'delayed', action: 'delayed', status: decision.status, reason: describeReason(decision.reason) }
        : null
    case 'failed':
      // The owner of the domain has deleted it, and knows.
      if (decision.reason === 'domain-deleted') return null
      return { kind: 'failed', action: 'failed', status: decision.status, reason: describeReason(decision.reason) }
    case 'bounced':
      return { kind: 'failed', action: 'failed', status: decision.status, reason: describeReason(decision.reason) }
  }
}
