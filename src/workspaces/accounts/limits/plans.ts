/**
 * The plan of each workspace, and whose workspaces count together.
 *
 * A plan that the configuration no longer has counts as the default plan. The daemon logs such workspaces at its
 * start (`findUnknownPlans`).
 */
import type { LimitsConfig } from '../../../base/config/complete.js'
import { limitsOfPlan, type PlanLimits } from '../../../base/config/plans.js'
import { prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { WorkspaceDirectory } from '../workspace/workspace-directory.js'
import { allWorkspaces, findOwnerId } from '../workspace/workspaces.js'

export interface Plan {
  readonly name: string
  readonly limits: PlanLimits
}

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

export class WorkspacePlans {
  /** `settings` are validated, so the default plan is configured. */
  constructor(
    private readonly workspaces: Pick<WorkspaceDirectory, 'planOf' | 'knownOwnerOf'>,
    private readonly settings: () => PlansConfig,
  ) {}

  /** Who the workspace counts for. It reads the database if the workspace is not known in memory yet. */
  async findOwner(read: Read, workspaceId: string): Promise<string> {
    return this.workspaces.knownOwnerOf(workspaceId) ?? (await findOwnerId(read, workspaceId))
  }

  /** An unknown workspace has the default plan. */
  find(workspaceId: string): Plan {
    const { default_plan: fallback, plans } = this.settings()
    const name = this.workspaces.planOf(workspaceId) ?? fallback
    const limits = limitsOfPlan(plans, name)
    return limits === undefined ? { name: fallback, limits: limitsOfPlan(plans, fallback) ?? {} } : { name, limits }
  }
}

/** Workspaces whose plan is not configured. */
export async function findUnknownPlans(
  read: Read,
  { plans }: Pick<PlansConfig, 'plans'>,
): Promise<readonly { readonly id: string; readonly plan: string }[]> {
  return (await allWorkspaces(read, {}))
    .filter(({ plan }) => limitsOfPlan(plans, plan) === undefined)
    .map(({ id, plan }) => ({ id, plan }))
}

/** Requests come to any node, and each counts for itself, so each allows its share of what a plan allows. */
export function shareOfNode(limits: PlanLimits, nodes: number): PlanLimits {
  if (nodes === 1) return limits
  const shares = sharedLimits.flatMap((name) => {
    const limit = limits[name]
    return limit === undefined ? [] : [[name, Math.ceil(limit / nodes)]]
  })
  return { ...limits, ...Object.fromEntries(shares) }
}

const sharedLimits = ['requests_per_second', 'burst', 'requests_per_minute', 'requests_per_day'] as const
