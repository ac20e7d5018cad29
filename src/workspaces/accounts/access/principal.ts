/** A *principal* is the workspace that acts in a request or session: by one of its keys, or from a trusted network. */
import type { Address } from '../../../base/mail/address.js'
import type { Role, Scope } from '../../../base/storage/tables/account-tables.js'

export const scopes = ['full', 'send', 'read'] as const satisfies readonly Scope[]

export interface Principal {
  readonly workspaceId: string
  /** Null means that a trusted network or the operator acts without a key. */
  readonly keyId: string | null
  /** The member to whom the key belongs. It is null without a key. */
  readonly userId: string | null
  /** The role that this member has now. */
  readonly role: Role
  /** What the key may do within that role. */
  readonly scopes: readonly Scope[]
  /** Domains the key may send from. An empty list allows all domains of the workspace. */
  readonly allowedDomains: readonly string[]
  /** Replaces senders that the principal may not use, in messages by SMTP. Null if such messages are refused. */
  readonly sender: Address | null
}

/**
 * Makes the principal of a trusted network and of the operator's command line, which send for a workspace without a
 * key.
 */
export function createKeylessPrincipal(workspaceId: string, sender: Address | null = null): Principal {
  return { workspaceId, keyId: null, userId: null, role: 'member', scopes: ['send'], allowedDomains: [], sender }
}
