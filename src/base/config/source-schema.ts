/** The settings of source addresses, pools and the warm-up, which are part of `[outbound]`. */
import * as value from './values.js'

/** Addresses of one machine that mail may leave from. */
export const MAX_SOURCES = 256
export const MAX_POOL_RULES = 1_000

/** The pool of `outbound.source_addresses`, and of mail that no rule gives to another one. */
export const DEFAULT_POOL = 'default'

/** One section of `[[outbound.sources]]`. */
export const sourceShape = {
  address: value.address,
  hello: value.hostName.optional(),
  pool: value.poolName.prefault(DEFAULT_POOL),
  warm_up: value.flag.prefault(false),
}

/** One section of `[[outbound.pool_rules]]`. All that it states must be true. */
export const poolRuleShape = {
  pool: value.poolName,
  workspace: value.workspaceId.optional(),
  domain: value.hostName.optional(),
  priority: value.oneOf('high', 'normal', 'low').optional(),
}

/** Messages a day to one provider, from the first day on; after the last one there is no cap. */
const plan = [
  ...[50, 100, 200, 400, 800, 1_200, 1_800, 2_700, 4_000, 6_000, 8_000, 10_000],
  ...[12_500, 15_500, 19_500, 24_500, 30_500, 38_000, 47_500],
]

export const warmUpSettings = {
  warm_up_plan: value.nonEmptyList(value.count(1, 1_000_000_000), 'messages a day').prefault(plan),
  domain_warm_up: value.flag.prefault(false),
  warm_up_route: value.routeOrNone.prefault(''),
  warm_up_route_file: value.pathOrNone.prefault(''),
}
