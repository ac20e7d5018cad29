/**
 * The pools of source addresses, and which pool a message uses. Pure.
 *
 * The first rule that matches decides. A message that matches no rule uses the default pool, to which
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
  /** The address in canonical form. */
  readonly address: string
  readonly family: Family
  /** The name in EHLO. Null if it is that of the service. */
  readonly hello: string | null
  readonly isWarming: boolean
}

export interface SourcePool {
  readonly name: string
  readonly sources: readonly Source[]
  /** True only for `outbound.source_addresses`: the system chooses the address for mail to hosts of another family. */
  readonly isLenient: boolean
}

type Judged = Pick<QueueEntry, 'workspace_id' | 'priority'>

export interface SourcePools {
  /** `domain` is the sender's domain, which counts only if `dependsOnDomain`. */
  readonly find: (entry: Judged, domain: string | null) => SourcePool
  /** True if messages of one workspace and priority may use different pools. */
  readonly dependsOnDomain: boolean
}

type PoolSettings = Pick<Config['outbound'], 'source_addresses' | 'sources' | 'pool_rules'>

export function familyOf(address: string): Family {
  return isIPv6(address) ? 6 : 4
}

/** Returns null if no address is configured, so that the system chooses. */
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
    find: (entry, domain) => rules.find(({ rule }) => matchesRule(rule, entry, domain))?.pool ?? defaultPool,
    dependsOnDomain: rules.some(({ rule }) => rule.domain !== undefined),
  }
}

function toSource({ address: written, hello, isWarming }: ConfiguredSource): Source {
  const address = parseIpAddress(written)?.toString() ?? written
  return { address, family: familyOf(address), hello, isWarming }
}

function matchesRule(
  { workspace, domain: ofRule, priority }: PoolSettings['pool_rules'][number],
  entry: Judged,
  domain: string | null,
): boolean {
  if (workspace !== undefined && workspace !== entry.workspace_id) return false
  if (priority !== undefined && priorityRank[priority] !== entry.priority) return false
  return ofRule === undefined || ofRule === domain
}
