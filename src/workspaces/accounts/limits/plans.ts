/**
 * The plan of each workspace. The cache holds 10,000 plans until another process changes the database.
 *
 * A plan that the configuration no longer has counts as the default plan. The daemon logs such workspaces at its
 * start (`findUnknownPlans`).
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

export class PlanCache {
  private readonly plans = createLruCache<Plan>({ max: MAX_WORKSPACES })

  /** `settings` are validated, so the default plan is configured. */
  constructor(
    private readonly read: Read,
    private readonly settings: () => PlansConfig,
  ) {}

  find(workspaceId: string): Plan {
    const cached = this.plans.get(workspaceId)
    if (cached !== undefined) return cached
    const plan = this.load(workspaceId)
    this.plans.set(workspaceId, plan)
    return plan
  }

  /** Drops everything, because another process has changed the database, or because a reload has changed the plans. */
  drop(): void {
    this.plans.clear()
  }

  private load(workspaceId: string): Plan {
    const { default_plan: fallback, plans } = this.settings()
    const name = selectPlanName(this.read, { workspaceId })[0]?.plan ?? fallback
    const limits = limitsOfPlan(plans, name)
    return limits === undefined ? { name: fallback, limits: limitsOfPlan(plans, fallback) ?? {} } : { name, limits }
  }
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
