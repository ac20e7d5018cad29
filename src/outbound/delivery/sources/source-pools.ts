/**
 * The pools of source addresses, and which pool a message goes by. Pure.
 *
 * The first rule that matches decides; a message that matches none goes by the default pool, to which
 * `outbound.source_addresses` belong.
 */
import { isIPv6 } from 'node:net'
import type { Config } from '../../../base/config/complete.js'
import { type ConfiguredSource, listConfiguredSources } from '../../../base/config/configured-sources.js'
import { DEFAULT_POOL } from '../../../base/config/source-schema.js'
import { parseIpAddress } from '../../../base/platform/ip-address.js'
import { priorityRank, type QueueEntry } from '../../../records/messages/queue/queue.js'

export type Family = 4 | 6

export interface Source {
  /** Canonical. */
  readonly address: string
  readonly family: Family
  /** The name in EHLO; null: that of the service. */
  readonly hello: string | null
  readonly isWarming: boolean
}

export interface SourcePool {
  readonly name: string
  readonly sources: readonly Source[]
  /** Only `outbound.source_addresses`: mail to a host of another family leaves from an address that the system chooses. */
  readonly isLenient: boolean
}

type Judged = Pick<QueueEntry, 'workspace_id' | 'priority'>

export interface SourcePools {
  /** `readDomain`: the sender's domain, read only if a rule asks for it. */
  readonly find: (entry: Judged, readDomain: () => string | null) => SourcePool
  /** Messages of one workspace and priority may go by different pools. */
  readonly dependsOnDomain: boolean
}

type PoolSettings = Pick<Config['outbound'], 'source_addresses' | 'sources' | 'pool_rules'>

export function familyOf(address: string): Family {
  return isIPv6(address) ? 6 : 4
}

/** Null: no address is configured, and the system chooses. */
export function compilePools(settings: PoolSettings): SourcePools | null {
  const configured = listConfiguredSources(settings)
  if (configured.length === 0) return null
  const isLenient = settings.sources.length === 0
  const poolOf = (name: string): SourcePool => {
    return { name, sources: configured.filter(({ pool }) => pool === name).map(toSource), isLenient }
  }
  const defaultPool = poolOf(DEFAULT_POOL)
  const rules = settings.pool_rules.map((rule) => ({ rule, pool: poolOf(rule.pool) }))
  return {
    find: (entry, readDomain) => rules.find(({ rule }) => matchesRule(rule, entry, readDomain))?.pool ?? defaultPool,
    dependsOnDomain: rules.some(({ rule }) => rule.domain !== undefined),
  }
}

function toSource({ address: written, hello, isWarming }: ConfiguredSource): Source {
  const address = parseIpAddress(written)?.toString() ?? written
  return { address, family: familyOf(address), hello, isWarming }
}

function matchesRule(
  { workspace, domain, priority }: PoolSettings['pool_rules'][number],
  entry: Judged,
  readDomain: () => string | null,
): boolean {
  if (workspace !== undefined && workspace !== entry.workspace_id) return false
  if (priority !== undefined && priorityRank[priority] !== entry.priority) return false
  return domain === undefined || domain === readDomain()
}
