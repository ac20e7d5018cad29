/** A *principal* is who acts in a request or session: a workspace, by one of its keys, or from a trusted network. */
import type { Role, Scope } from '../../../base/storage/tables/account-tables.js'

export const scopes = ['full', 'send', 'read'] as const satisfies readonly Scope[]

export interface Principal {
  readonly workspaceId: string
  /** Null: no key, but a trusted network or the operator. */
  readonly keyId: string | null
  /** The member to whom the key belongs; null: no key. */
  readonly userId: string | null
  /** The present role of that member. */
  readonly role: Role
  /** What the key may do within that role. */
  readonly scopes: readonly Scope[]
  /** Domains the key may send from; empty: all of the workspace. */
  readonly allowedDomains: readonly string[]
}

/** For a trusted network and the operator's command line, which send for a workspace without a key. */
export function createKeylessPrincipal(workspaceId: string): Principal {
  return { workspaceId, keyId: null, userId: null, role: 'member', scopes: ['send'], allowedDomains: [] }
}
