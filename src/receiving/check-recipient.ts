/** Decides at RCPT whether a recipient of inbound mail is accepted: its policy, and room in its workspace. */
import type { InboundBytes } from '../accounts/limits/inbound-bytes.js'
import type { Address } from '../mail/address.js'
import { INBOUND_RECORD_BYTES } from '../storage/schema/inbound.js'
import type { InboundPolicy } from '../storage/tables/domain-tables.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'
import type { AcceptInboundDeps } from './accept-inbound.js'
import { findCopyOwner } from './destinations.js'
import { isTooLargeFor } from './system-mail.js'

interface RecipientCheckDeps extends Pick<AcceptInboundDeps, 'recipientOf' | 'operatorWorkspace' | 'policyOf'> {
  readonly inboundBytes: Pick<InboundBytes, 'roomOf'>
  /** The id of the forwarding rule that matches an address of the workspace; null: none does. */
  readonly forwardRuleOf: (workspaceId: string, address: Address) => string | null
  /** Bytes of the largest message that the listener accepts. */
  readonly maxSize: () => number
}

interface CheckedRecipient {
  /** Recipients of one workspace share a copy of the message. Null: mail of the service itself. */
  readonly workspaceId: string | null
  /** The workspace may lack room for a message of unknown size: its message must not be shared with another workspace. */
  readonly alone: boolean
  /** The setting of the recipient's domain; null: it is never greylisted, since it is no mailbox. */
  readonly greylisting: InboundPolicy['greylisting'] | null
  readonly forwardRule: string | null
}

type RecipientFault =
  | 'unknown-recipient'
  | 'relay-denied'
  | 'recipient-blocked'
  | 'system-mail-size'
  | 'no-operator'
  | 'mailbox-full'

const faultOfRefusal = {
  unknown: 'unknown-recipient',
  relay: 'relay-denied',
  blocked: 'recipient-blocked',
} as const satisfies Readonly<Record<string, RecipientFault>>

/** Bytes that a message takes beside its own: our header fields, as an upper estimate, and its record. */
const ADDED_BYTES = 4_096 + INBOUND_RECORD_BYTES

/** `size`: of the message as its client declares it; 0: not declared. `from`: its envelope sender, empty for `<>`. */
export function checkRecipient(
  { recipientOf, operatorWorkspace, inboundBytes, policyOf, forwardRuleOf, maxSize }: RecipientCheckDeps,
  address: Address,
  size: number,
  from: Address | '',
): CheckedRecipient | RecipientFault {
  const recipient = recipientOf(address)
  if (recipient.kind === 'refused') return faultOfRefusal[recipient.why]
  // Bounces have the null sender: anything else to a rewritten sender would be relayed.
  if (recipient.kind === 'forwarded-sender' && from !== '') return 'relay-denied'
  if (isTooLargeFor(recipient, size)) return 'system-mail-size'
  const owner = findCopyOwner(recipient, operatorWorkspace)
  if (owner === 'refused') return 'unknown-recipient'
  if (owner === 'unowned') return 'no-operator'
  if (owner === null) return { workspaceId: null, alone: false, greylisting: null, forwardRule: null }
  const isMailbox = recipient.kind === 'mailbox'
  const greylisting = isMailbox ? policyOf(recipient.domain).greylisting : null
  const forwardRule = isMailbox ? forwardRuleOf(recipient.workspaceId, address) : null
  const workspaceId = owner.kind === 'workspace' ? owner.id : null
  const room = inboundBytes.roomOf(workspaceId ?? SERVICE_WORKSPACE)
  if (room !== null && room < size + ADDED_BYTES) return 'mailbox-full'
  return {
    workspaceId,
    greylisting,
    forwardRule,
    alone: room !== null && size === 0 && room < maxSize() + ADDED_BYTES,
  }
}
