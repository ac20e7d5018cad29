/** Decides at RCPT whether a recipient of inbound mail is accepted: its policy, and room in its workspace. */

import type { Config } from '../../../base/config/complete.js'
import type { Address } from '../../../base/mail/address.js'
import { INBOUND_RECORD_BYTES } from '../../../base/storage/schema/inbound.js'
import type { InboundPolicy } from '../../../base/storage/tables/domain-tables.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { InboundBytes } from '../../../workspaces/accounts/limits/inbound-bytes.js'
import type { OperatorWorkspaceCache } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import { type ForwardRuleCache, findRule } from '../../../workspaces/domains/forwards/forward-rule-cache.js'
import { findCopyOwner } from './destinations.js'
import type { InboundRecipient, RecipientPolicy } from './recipient-policy.js'
import { isTooLargeFor } from './system-mail.js'

interface CheckerDeps {
  readonly policy: Pick<RecipientPolicy, 'classify' | 'findInboundPolicy'>
  readonly operatorWorkspace: Pick<OperatorWorkspaceCache, 'find'>
  readonly inboundBytes: Pick<InboundBytes, 'roomOf'>
  readonly forwardRules: Pick<ForwardRuleCache, 'find'>
  readonly settings: () => Pick<Config['inbound'], 'max_size'>
}

/** A recipient that receives mail here. */
export interface CheckedRecipient {
  /** Recipients of one workspace share a copy of the message. Null for an address of the service itself. */
  readonly workspaceId: string | null
  /** The workspace may lack room for a message of unknown size: its message must not be shared with another workspace. */
  readonly alone: boolean
  /** The setting of the recipient's domain, or null if it is never greylisted, since it is no mailbox. */
  readonly greylisting: InboundPolicy['greylisting'] | null
  /** The forwarding rule that matches it. */
  readonly forwardRule: string | null
}

export type RecipientFault =
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

/** Bytes that a message takes besides its own: our header fields, as an upper estimate, and its record. */
const ADDED_BYTES = 4_096 + INBOUND_RECORD_BYTES

export class RecipientChecker {
  constructor(private readonly deps: CheckerDeps) {}

  /**
   * `size` is the size of the message as its client declares it, or 0 if it declares none. `from` is its envelope
   * sender, which is empty for `<>`.
   */
  async check(address: Address, size: number, from: Address | ''): Promise<CheckedRecipient | RecipientFault> {
    const { policy, operatorWorkspace, inboundBytes, settings } = this.deps
    const recipient = await policy.classify(address)
    if (recipient.kind === 'refused') return faultOfRefusal[recipient.why]
    // Bounces have the null sender: anything else to a rewritten sender would be relayed.
    if (recipient.kind === 'forwarded-sender' && from !== '') return 'relay-denied'
    if (isTooLargeFor(recipient, size)) return 'system-mail-size'
    const owner = await findCopyOwner(recipient, operatorWorkspace)
    if (owner === 'refused') return 'unknown-recipient'
    if (owner === 'unowned') return 'no-operator'
    if (owner === null) return { workspaceId: null, alone: false, greylisting: null, forwardRule: null }
    const workspaceId = owner.kind === 'workspace' ? owner.id : null
    const room = await inboundBytes.roomOf(workspaceId ?? SERVICE_WORKSPACE)
    if (room !== null && room < size + ADDED_BYTES) return 'mailbox-full'
    return {
      workspaceId,
      ...(await this.findMailboxSettings(recipient, address)),
      alone: room !== null && size === 0 && room < settings().max_size + ADDED_BYTES,
    }
  }

  private async findMailboxSettings(
    recipient: InboundRecipient,
    address: Address,
  ): Promise<Pick<CheckedRecipient, 'greylisting' | 'forwardRule'>> {
    if (recipient.kind !== 'mailbox') return { greylisting: null, forwardRule: null }
    const { policy, forwardRules } = this.deps
    return {
      greylisting: (await policy.findInboundPolicy(recipient)).greylisting,
      forwardRule: (await findRule(forwardRules, recipient.workspaceId, address))?.id ?? null,
    }
  }
}
