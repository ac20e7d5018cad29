/** Settings of source addresses and pools in `[outbound]` that contradict each other. */
import { parseIpAddress } from '../platform/ip-address.js'
import type { Problem } from './problems.js'
import type { Settings } from './schema.js'
import { DEFAULT_POOL } from './source-schema.js'

type Outbound = Pick<
  Settings['outbound'],
  'source_addresses' | 'sources' | 'pool_rules' | 'warm_up_plan' | 'warm_up_route' | 'domain_warm_up'
>

export function findSourceContradictions(outbound: Outbound): readonly Problem[] {
  return [
    ...findRepeatedAddresses(outbound),
    ...findMissingDefault(outbound),
    ...outbound.pool_rules.flatMap((rule, at) => judgeRule(outbound, rule, `outbound.pool_rules[${at}]`)),
    ...findShrinkingPlan(outbound.warm_up_plan),
  ]
}

/** Checks only addresses of `sources`: a repeated one of `source_addresses` was allowed before there were pools. */
function findRepeatedAddresses({ source_addresses, sources }: Outbound): readonly Problem[] {
  const places = new Map(
    source_addresses.map((address, at) => [canonical(address), `outbound.source_addresses[${at}]`]),
  )
  return sources.flatMap(({ address }, at) => {
    const key = `outbound.sources[${at}].address`
    const first = places.get(canonical(address))
    if (first === undefined) {
      places.set(canonical(address), key)
      return []
    }
    return [{ key, message: `found ${JSON.stringify(address)}, which ${first} has; allowed: each address once` }]
  })
}

function canonical(address: string): string {
  return parseIpAddress(address)?.toString() ?? address
}

/** Mail that no rule names would leave from an address that the system chooses. */
function findMissingDefault({ source_addresses, sources }: Outbound): readonly Problem[] {
  if (sources.length === 0 || source_addresses.length > 0) return []
  if (sources.some(({ pool }) => pool === DEFAULT_POOL)) return []
  const message = `found no address of the pool "${DEFAULT_POOL}"; allowed: at least one, for mail that no rule names`
  return [{ key: 'outbound.sources', message }]
}

function judgeRule(outbound: Outbound, rule: Outbound['pool_rules'][number], key: string): readonly Problem[] {
  const { pool, workspace, domain, priority } = rule
  const isKnown =
    outbound.sources.some((source) => source.pool === pool) ||
    (pool === DEFAULT_POOL && outbound.source_addresses.length > 0)
  const isEmpty = workspace === undefined && domain === undefined && priority === undefined
  return [
    ...(isKnown
      ? []
      : [{ key: `${key}.pool`, message: `found ${JSON.stringify(pool)}; allowed: a pool of outbound.sources` }]),
    ...(isEmpty ? [{ key, message: 'found no condition; allowed: workspace, domain or priority, at least one' }] : []),
  ]
}

function findShrinkingPlan(plan: Outbound['warm_up_plan']): readonly Problem[] {
  const at = plan.findIndex((cap, index) => cap < (plan[index - 1] ?? 0))
  if (at === -1) return []
  return [{ key: `outbound.warm_up_plan[${at}]`, message: `found ${plan[at]}; allowed: no less than the day before` }]
}
