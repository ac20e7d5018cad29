/**
 * A bounce that comes to our return path, forwarded to the app that submitted the message by SMTP: its own
 * envelope sender was never used on the wire, so only we can notify it.
 *
 * It is a DSN of our own with what the report says about this recipient. If a later server was to report success,
 * this is that report: it is sent once, and then the request for it is cleared, because nothing else marks a
 * delivered recipient as notified.
 */
import { formatNotify, parseNotify } from '../../../base/mail/dsn-parameters.js'
import { describeReason } from '../../../base/mail/reasons.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { DsnKind, DsnRecipient } from '../../../records/messages/dsn/dsn-report.js'
import { buildSenderNotice, shouldNotifySender } from '../../../records/messages/dsn/sender-notice.js'
import { headOfRecipient } from '../../../records/messages/email/recipient-copies.js'
import { type Recipient, updateNotify } from '../../../records/messages/email/recipients.js'
import type { OutcomeSubject } from '../../../records/messages/late-outcome.js'
import type { ServiceNotice, ServiceSender } from '../../../records/messages/service-email.js'
import { isSuppressed } from '../../../records/suppressions/suppressions.js'
import type { Bounce, BounceKind } from './report.js'

interface DsnTerms {
  readonly kind: DsnKind
  readonly action: DsnRecipient['action']
  /** First digit of the status codes. */
  readonly digit: '2' | '4' | '5'
}

const dsnTerms: Readonly<Record<BounceKind, DsnTerms>> = {
  permanent: { kind: 'failed', action: 'failed', digit: '5' },
  temporary: { kind: 'failed', action: 'failed', digit: '4' },
  delayed: { kind: 'delayed', action: 'delayed', digit: '4' },
  delivered: { kind: 'success', action: 'delivered', digit: '2' },
}

export interface LateNotice extends ServiceNotice {
  /** Including those of the notification. */
  readonly writes: readonly Write[]
}

/** Null if no notification is requested. */
export async function buildLateNotice(
  read: Read,
  settings: ServiceSender,
  { email, recipient }: OutcomeSubject,
  bounce: Bounce,
  now: number,
): Promise<LateNotice | null> {
  const { kind, action, digit } = dsnTerms[bounce.kind]
  const notify = recipient.notify === null ? null : parseNotify(recipient.notify)
  const sender = email.envelope_from
  if (sender === '' || !shouldNotifySender({ email, notify }, kind)) return null
  if (await isSuppressed(read, SERVICE_WORKSPACE, sender)) return null
  const ref = { workspaceId: email.workspace_id, emailId: email.id, recipientId: recipient.id }
  const raw = await headOfRecipient(read, ref)
  const reportedRecipient: DsnRecipient = {
    address: recipient.address,
    orcpt: recipient.orcpt,
    action,
    status: bounce.status?.startsWith(`${digit}.`) === true ? bounce.status : `${digit}.0.0`,
    reason: sentenceOf(bounce),
    diagnostic: bounce.diagnostic || null,
    // The report may name the server that said it, but that is unproven.
    remoteMta: null,
    lastAttemptAt: null,
    willRetryUntil: null,
  }
  const notice = buildSenderNotice(settings, { email, raw, notify }, { kind, recipient: reportedRecipient }, now)
  return notice === null
    ? null
    : { ...notice, writes: [...notice.enqueued.writes, ...clearSuccessRequest(recipient, kind)] }
}

function clearSuccessRequest({ id, workspace_id: workspaceId, notify }: Recipient, kind: DsnKind): Write[] {
  if (kind !== 'success' || notify === null) return []
  const left = parseNotify(notify).filter((word) => word !== 'success')
  return [updateNotify({ id, workspaceId, notify, left: formatNotify(left.length === 0 ? ['never'] : left) })]
}

function sentenceOf({ kind, reason }: Bounce): string {
  if (kind === 'delivered') return 'The server that has the message reports that it was delivered.'
  return describeReason(reason ?? 'unclassified')
}
