/**
 * Decides which recipients a report concerns, and whether it may. Pure.
 *
 * A report is an unauthenticated claim, and a token is its only proof: that of the return path that it came to;
 * for a complaint also that of the return path or of the reference field in the returned message; for an
 * unsubscribe request that of the address.
 *
 * An automatic reply unsubscribes no recipient. A message that is merely marked as automatic is no such reply,
 * since mail programs mark what they send for their users so.
 */
import type { KeyObject } from 'node:crypto'
import { type Address, localPartOf } from '../../../base/mail/address.js'
import { assertNever } from '../../../base/mail/assert-never.js'
import {
  REFERENCE_FIELD,
  recipientOfReference,
  recipientOfReturnPath,
  recipientOfUnsubscribe,
} from '../../../base/mail/recipient-token.js'
import type { InboundRecipient, RecipientPolicy } from '../recipients/recipient-policy.js'
import type { Bounce, ComplaintReport, Report } from './report.js'
import { parseTypedAddress } from './report-addresses.js'
import { firstValueOf } from './report-fields.js'

/**
 * Why a report changes nothing. `not-ours`: the address has no meaning, or no longer. `no-token`: no valid token.
 * `automatic`: an automatic reply. `unreadable`: an unknown form. `feedback-type`: not a complaint, such as a
 * failed authentication.
 */
export type UnclaimedReason = 'not-ours' | 'no-token' | 'automatic' | 'unreadable' | 'feedback-type'

export type ReportClaim =
  | { readonly kind: 'bounce'; readonly recipientId: string; readonly bounces: readonly Bounce[] }
  | { readonly kind: 'complaint'; readonly recipientId: string; readonly feedbackType: string }
  | { readonly kind: 'unsubscribe'; readonly recipientId: string }
  | { readonly kind: 'none'; readonly why: UnclaimedReason }

export interface ReportMail {
  readonly report: Report
  /** Its envelope sender is `<>`, or it is marked as a reply. */
  readonly isAutoReply: boolean
}

type SystemRecipient = Extract<InboundRecipient, { kind: 'system' }>

const MAX_REFERENCES = 10
/** Complaints of recipients, or of their providers for them. */
const complaintTypes: ReadonlySet<string> = new Set(['abuse', 'fraud'])

/** `address` is one of the recipients of the report. */
export async function verifyClaim(policy: RecipientPolicy, address: Address, mail: ReportMail): Promise<ReportClaim> {
  const recipient = await policy.classify(address)
  switch (recipient.kind) {
    case 'return-path':
      return claimAtReturnPath(policy.secret, recipient.recipientId, mail.report)
    case 'system':
      return claimAtSystemAddress(policy.secret, recipient, mail)
    case 'mailbox':
    case 'forwarded-sender':
    case 'refused':
      return noClaim('not-ours')
    default:
      return assertNever(recipient)
  }
}

function claimAtReturnPath(secret: KeyObject, recipientId: string | null, report: Report): ReportClaim {
  if (report.type === 'complaint')
    return buildComplaintClaim(report, findReportedRecipient(secret, report) ?? recipientId)
  if (recipientId === null) return noClaim('no-token')
  if (report.type === 'bounce') return { kind: 'bounce', recipientId, bounces: report.bounces }
  return noClaim(report.type === 'auto-reply' ? 'automatic' : 'unreadable')
}

function claimAtSystemAddress(
  secret: KeyObject,
  { name, detail }: SystemRecipient,
  { report, isAutoReply }: ReportMail,
): ReportClaim {
  if (name === 'fbl') {
    return report.type === 'complaint'
      ? buildComplaintClaim(report, findReportedRecipient(secret, report))
      : noClaim('unreadable')
  }
  if (name !== 'unsubscribe') return noClaim('not-ours')
  const recipientId = recipientOfUnsubscribe(secret, detail)
  if (recipientId === null) return noClaim('no-token')
  return isAutoReply || report.type === 'bounce' ? noClaim('automatic') : { kind: 'unsubscribe', recipientId }
}

function buildComplaintClaim({ feedbackType }: ComplaintReport, recipientId: string | null): ReportClaim {
  const isOptOut = feedbackType.startsWith('opt-out')
  if (!isOptOut && !complaintTypes.has(feedbackType)) return noClaim('feedback-type')
  if (recipientId === null) return noClaim('no-token')
  return isOptOut ? { kind: 'unsubscribe', recipientId } : { kind: 'complaint', recipientId, feedbackType }
}

/** Finds the recipient by the tokens in the returned message. */
function findReportedRecipient(secret: KeyObject, { mailFrom, reported }: ComplaintReport): string | null {
  const references = reported.filter(({ name }) => name === REFERENCE_FIELD).slice(0, MAX_REFERENCES)
  for (const { value } of references) {
    const found = recipientOfReference(secret, value)
    if (found !== null) return found
  }
  for (const path of [mailFrom, parseTypedAddress(firstValueOf(reported, 'return-path'))]) {
    const found = path === null ? null : recipientOfReturnPath(secret, localPartOf(path))
    if (found !== null) return found
  }
  return null
}

function noClaim(why: UnclaimedReason): ReportClaim {
  return { kind: 'none', why }
}
