/** An API key as answers show it: the interface's form, for the command line and the API. */
import { timestamp } from '../../platform/clock.js'
import type { Scope } from '../principal.js'
import type { ApiKeyRow, NewKey } from './api-keys.js'
import { limitsOf } from './key-limits.js'

interface Common {
  readonly id: string
  readonly name: string
  readonly key_prefix: string
  readonly created_at: string
  readonly scopes: readonly Scope[]
  readonly expires_at: string | null
  readonly allowed_networks: readonly string[]
  readonly allowed_domains: readonly string[]
}

export interface KeyResource extends Common {
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

export interface CreatedKeyResource extends Common {
  /** The whole key: in this answer and never again. */
  readonly key: string
}

type Shown = Omit<ApiKeyRow, 'workspace_id' | 'user_id' | 'key_hash'>

export function keyResource(row: Shown): KeyResource {
  return { ...common(row), last_used_at: iso(row.last_used_at), revoked_at: iso(row.revoked_at) }
}

export function createdKeyResource({ secret, row }: NewKey): CreatedKeyResource {
  const { id, name, ...others } = common(row)
  return { id, name, key: secret, ...others }
}

function common(row: Shown): Common {
  const { allowedNetworks, allowedDomains } = limitsOf(row)
  return {
    id: row.id,
    name: row.name,
    key_prefix: row.key_prefix,
    created_at: timestamp(row.created_at),
    scopes: JSON.parse(row.scopes) as readonly Scope[],
    expires_at: iso(row.expires_at),
    allowed_networks: allowedNetworks,
    allowed_domains: allowedDomains,
  }
}

function iso(at: number | null): string | null {
  return at === null ? null : timestamp(at)
}
