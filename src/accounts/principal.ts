/** Who is acting: a workspace, by one of its keys or from a trusted network. */
export interface Principal {
  readonly workspaceId: string
  /** Null: a trusted network, no key. */
  readonly keyId: string | null
  /** Domains the key may send from; empty: all of the workspace. */
  readonly allowedDomains: readonly string[]
}
