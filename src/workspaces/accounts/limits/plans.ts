/**
 * The plan of each workspace, cached until another process changes the database. Limit: 10,000.
 *
 * A plan that the configuration no longer has counts as the default plan. The daemon logs such
 * workspaces at its start (`findUnknownPlans`).
 */
import type { LimitsConfig } from '../../../base/config/complete.js'
import { limitsOfPlan, type PlanLimits } from '../../../base/config/plans.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import { allWorkspaces } from '../workspace/workspaces.js'

const MAX_WORKSPACES = 10_000

export interface Plan {
  readonly name: string
  readonly limits: PlanLimits
}

export interface PlanCache {
  readonly find: (workspaceId: string) => Plan
  /** Drops everything: another process has changed the database, or a reload the plans. */
  readonly drop: () => void
}

const selectPlanName = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('workspaces').select('plan').where('id', '=', slot('workspaceId')),
)

/** Misses when there is no such workspace. The plan must be configured. */
export const setPlan = prepareWrite<{ workspaceId: string; plan: string }>(
  ({ db, slot }) =>
    db
      .updateTable('workspaces')
      .set({ plan: slot('plan') })
      .where('id', '=', slot('workspaceId')),
  1,
)

type PlansConfig = Pick<LimitsConfig, 'default_plan' | 'plans'>

/** `settings`: validated, so the default plan is configured. */
export function createPlanCache({
  read,
  settings,
}: {
  readonly read: Read
  readonly settings: () => PlansConfig
}): PlanCache {
  const cache = createLruCache<Plan>({ max: MAX_WORKSPACES })
  function readPlan(workspaceId: string): Plan {
    const name = selectPlanName(read, { workspaceId })[0]?.plan ?? settings().default_plan
    const limits = limitsOfPlan(settings().plans, name)
    return limits === undefined ? readDefaultPlan(settings()) : { name, limits }
  }

  return {
    find: (workspaceId) => {
      const cached = cache.get(workspaceId)
      if (cached !== undefined) return cached
      const plan = readPlan(workspaceId)
      cache.set(workspaceId, plan)
      return plan
    },
    drop: () => cache.clear(),
  }
}

function readDefaultPlan({ default_plan: name, plans }: PlansConfig): Plan {
  return { name, limits: limitsOfPlan(plans, name) ?? {} }
}

/** Workspaces whose plan is not configured. */
export function findUnknownPlans(
  read: Read,
  { plans }: Pick<PlansConfig, 'plans'>,
): readonly { readonly id: string; readonly plan: string }[] {
  return allWorkspaces(read, {})
    .filter(({ plan }) => limitsOfPlan(plans, plan) === undefined)
    .map(({ id, plan }) => ({ id, plan }))
}
