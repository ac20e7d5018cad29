/** An API key as the API and the command line show it. */
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Scope } from '../../../base/storage/tables/account-tables.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { ApiKeyRow, NewKey } from './api-keys.js'
import { parseKeyLimits } from './key-limits.js'

interface KeyFields {
  readonly id: string
  readonly name: string
  readonly key_prefix: string
  readonly created_at: string
  readonly scopes: readonly Scope[]
  readonly expires_at: string | null
  readonly allowed_networks: readonly string[]
  readonly allowed_domains: readonly string[]
  readonly sender: string | null
}

interface KeyResource extends KeyFields {
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

interface CreatedKeyResource extends KeyFields {
  /** The complete key. Only this answer has it. */
  readonly key: string
}

type KeyResourceRow = Omit<ApiKeyRow, 'workspace_id' | 'user_id' | 'key_hash'>

export function toKeyResource(row: KeyResourceRow): KeyResource {
  return {
    ...toKeyFields(row),
    last_used_at: timestampOrNull(row.last_used_at),
    revoked_at: timestampOrNull(row.revoked_at),
  }
}

export function toCreatedKeyResource({ secret, row }: NewKey): CreatedKeyResource {
  const { id, name, ...others } = toKeyFields(row)
  return { id, name, key: secret, ...others }
}

function toKeyFields(row: KeyResourceRow): KeyFields {
  const { allowedNetworks, allowedDomains } = parseKeyLimits(row)
  return {
    id: row.id,
    name: row.name,
    key_prefix: row.key_prefix,
    created_at: formatTimestamp(row.created_at),
    scopes: parseJson(row.scopes),
    expires_at: timestampOrNull(row.expires_at),
    allowed_networks: allowedNetworks,
    allowed_domains: allowedDomains,
    sender: row.sender,
  }
}

function timestampOrNull(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at)
}
