/**
 * Of which recipient does a report speak, and may it? Pure.
 *
 * A report is a stranger's claim, and a token is its only proof: that of the return path that
 * it came to; of a complaint also that of the return path or of the reference field in the
 * message that it brings along; of a wish to hear no more that of the address.
 *
 * A machine that answers unsubscribes nobody. That a machine wrote the message is no answer: mail
 * programs mark what they send for their users so.
 */
import type { KeyObject } from 'node:crypto'
import { type Address, localPartOf } from '../../mail/address.js'
import { assertNever } from '../../mail/assert-never.js'
import { REFERENCE_FIELD, recipientOfReference } from '../../mail/reference-field.js'
import { recipientOfReturnPath } from '../../mail/return-path.js'
import { recipientOfUnsubscribe } from '../../mail/unsubscribe-address.js'
import { type InboundRecipient, inboundRecipient, type RecipientPolicy } from '../recipient-policy.js'
import type { Bounce, ComplaintReport, Report } from './report.js'
import { typedAddress } from './report-addresses.js'
import { firstValue } from './report-fields.js'

/**
 * Why a report changes nothing. `not-ours`: the address means nothing, or nothing any more.
 * `no-token`: none that we have made. `automatic`: a machine's answer. `unreadable`: nothing
 * that we know. `feedback-type`: no complaint, as a failed authentication.
 */
export type Unclaimed = 'not-ours' | 'no-token' | 'automatic' | 'unreadable' | 'feedback-type'

export type Claim =
  | { readonly kind: 'bounce'; readonly recipientId: string; readonly bounces: readonly Bounce[] }
  | { readonly kind: 'complaint'; readonly recipientId: string; readonly feedbackType: string }
  | { readonly kind: 'unsubscribe'; readonly recipientId: string }
  | { readonly kind: 'none'; readonly why: Unclaimed }

export interface ReportMail {
  readonly report: Report
  /** It comes from nobody (`<>`), or calls itself an answer. */
  readonly answer: boolean
}

type System = Extract<InboundRecipient, { kind: 'system' }>

const MAX_REFERENCES = 10
/** What people, or their providers in their name, hold against a message. */
const complaints: ReadonlySet<string> = new Set(['abuse', 'fraud'])

/** `address`: one of those that the mail came to. */
export function claimAt(policy: RecipientPolicy, address: Address, mail: ReportMail): Claim {
  const place = inboundRecipient(policy, address)
  switch (place.kind) {
    case 'return-path':
      return atReturnPath(policy.secret, place.recipientId, mail.report)
    case 'system':
      return atSystemAddress(policy.secret, place, mail)
    case 'mailbox':
    case 'refused':
      return none('not-ours')
    default:
      return assertNever(place)
  }
}

function atReturnPath(secret: KeyObject, recipientId: string | null, report: Report): Claim {
  if (report.type === 'complaint') return complaint(report, recipientInside(secret, report) ?? recipientId)
  if (recipientId === null) return none('no-token')
  if (report.type === 'bounce') return { kind: 'bounce', recipientId, bounces: report.bounces }
  return none(report.type === 'auto-reply' ? 'automatic' : 'unreadable')
}

function atSystemAddress(secret: KeyObject, { name, detail }: System, { report, answer }: ReportMail): Claim {
  if (name === 'fbl') {
    return report.type === 'complaint' ? complaint(report, recipientInside(secret, report)) : none('unreadable')
  }
  if (name !== 'unsubscribe') return none('not-ours')
  const recipientId = recipientOfUnsubscribe(secret, detail)
  if (recipientId === null) return none('no-token')
  return answer || report.type === 'bounce' ? none('automatic') : { kind: 'unsubscribe', recipientId }
}

function complaint({ feedbackType }: ComplaintReport, recipientId: string | null): Claim {
  const wish = feedbackType.startsWith('opt-out')
  if (!wish && !complaints.has(feedbackType)) return none('feedback-type')
  if (recipientId === null) return none('no-token')
  return wish ? { kind: 'unsubscribe', recipientId } : { kind: 'complaint', recipientId, feedbackType }
}

/** By the tokens in what the report brings along. */
function recipientInside(secret: KeyObject, { mailFrom, reported }: ComplaintReport): string | null {
  const references = reported.filter(({ name }) => name === REFERENCE_FIELD).slice(0, MAX_REFERENCES)
  for (const { value } of references) {
    const found = recipientOfReference(secret, value)
    if (found !== null) return found
  }
  for (const path of [mailFrom, typedAddress(firstValue(reported, 'return-path'))]) {
    const found = path === null ? null : recipientOfReturnPath(secret, localPartOf(path))
    if (found !== null) return found
  }
  return null
}

function none(why: Unclaimed): Claim {
  return { kind: 'none', why }
}
