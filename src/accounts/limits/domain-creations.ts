/** How many sending domains a workspace may register in an hour: ten. Deleting one gives no place back. */

import type { Store } from '../../storage/database.js'
import { countWithinHour } from './hourly-limit.js'
import { DOMAIN_CREATIONS } from './usage.js'

const MAX_DOMAINS_PER_HOUR = 10

const domainLimit = {
  kind: DOMAIN_CREATIONS,
  max: MAX_DOMAINS_PER_HOUR,
  actionText: `register ${MAX_DOMAINS_PER_HOUR} domains`,
}

/** Throws a Refusal `rate-limited` when the hour is full. */
export function countDomainCreation(deps: Store, workspaceId: string, now: number): Promise<void> {
  return countWithinHour(deps, domainLimit, workspaceId, now)
}
