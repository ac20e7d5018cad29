/** Who is acting: a workspace, by one of its keys or from a trusted network. */
import type { Role, Scope } from '../storage/tables/account-tables.js'

export const scopes = ['full', 'send', 'read'] as const satisfies readonly Scope[]

export interface Principal {
  readonly workspaceId: string
  /** Null: a trusted network, or the operator; no key. */
  readonly keyId: string | null
  /** The member to whom the key belongs; null where there is no key. */
  readonly userId: string | null
  /** What that member is in the workspace now. */
  readonly role: Role
  /** What the key may do of what its member may. */
  readonly scopes: readonly Scope[]
  /** Domains the key may send from; empty: all of the workspace. */
  readonly allowedDomains: readonly string[]
}

/** Sends for a workspace without a key: a trusted network, the operator's command line. */
export function createKeylessPrincipal(workspaceId: string): Principal {
  return { workspaceId, keyId: null, userId: null, role: 'member', scopes: ['send'], allowedDomains: [] }
}
