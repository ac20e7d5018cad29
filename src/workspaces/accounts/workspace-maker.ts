/**
 * Decides who may make a workspace through the API, and with which plan. You cannot leave a plan by making
 * workspaces.
 *
 * A new workspace has the default plan, unless that plan allows anything that the plan of the maker's workspace
 * forbids. Then it has the plan of the maker.
 */
import type { LimitsConfig } from '../../base/config/complete.js'
import { limitsOfPlan, type PlanLimits } from '../../base/config/plans.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Principal } from './access/principal.js'
import { requireUnbound } from './keys/key-limits.js'
import type { Plan } from './limits/plans.js'
import { findOperatedBy } from './workspace/operator-workspace.js'
import { oldestOwned, ownerOf, roleIn } from './workspace/workspaces.js'

type Setting = Pick<LimitsConfig, 'create_workspaces'>

/**
 * Finds the workspace whose plan bounds that of the new one: the caller's own, or the oldest that the user owns.
 * Throws a Refusal `forbidden` that says who may make one.
 */
export async function requireMakersWorkspace(read: Read, principal: Principal, setting: Setting): Promise<string> {
  await requireUnbound(read, principal, 'create a workspace')
  const { workspaceId, userId } = principal
  if (userId === null || (await roleIn(read, { workspaceId, userId })).length === 0) {
    throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  }
  return setting.create_workspaces === 'operator'
    ? await requireOperatorsWorkspace(read, userId)
    : await requireOwnedWorkspace(read, workspaceId, userId)
}

async function requireOperatorsWorkspace(read: Read, userId: string): Promise<string> {
  const workspaceId = await findOperatedBy(read, userId)
  if (workspaceId !== null) return workspaceId
  throw buildMakerRefusal('operator', 'only the operator of the service creates workspaces')
}

async function requireOwnedWorkspace(read: Read, workspaceId: string, userId: string): Promise<string> {
  if ((await ownerOf(read, { workspaceId }))[0]?.user_id === userId) return workspaceId
  const [oldest] = await oldestOwned(read, { userId })
  if (oldest?.id != null) return oldest.id
  throw buildMakerRefusal('owners', 'only a user who owns a workspace may create another')
}

function buildMakerRefusal(setting: Setting['create_workspaces'], rule: string): Refusal {
  const cure = 'ask the operator, who creates one with "posthorn workspace create"'
  const message = `not permitted: ${rule} (limits.create_workspaces = "${setting}"): ${cure}`
  return new Refusal('forbidden', message, { create_workspaces: setting })
}

/** The name of the plan of a workspace that a workspace with the plan `maker` makes. */
export function planOfNewWorkspace(
  { default_plan: name, plans }: Pick<LimitsConfig, 'default_plan' | 'plans'>,
  maker: Plan,
): string {
  return isWithin(limitsOfPlan(plans, name) ?? {}, maker.limits) ? name : maker.name
}

/** Tells whether `plan` is nowhere wider than `other`. */
function isWithin(plan: PlanLimits, other: PlanLimits): boolean {
  const [own, outer] = [effectiveLimits(plan), effectiveLimits(other)]
  return own.every((limit, place) => limit <= (outer[place] ?? 0))
}

/** Without `burst`, the limit of a second also limits what may arrive at once. */
function effectiveLimits(plan: PlanLimits): readonly number[] {
  const { requests_per_second, burst = requests_per_second, requests_per_minute, requests_per_day } = plan
  const { emails_per_day, emails_per_month, credits, inbound_bytes } = plan
  const requests = [requests_per_second, burst, requests_per_minute, requests_per_day]
  return [...requests, emails_per_day, emails_per_month, credits, inbound_bytes].map(
    (limit) => limit ?? Number.POSITIVE_INFINITY,
  )
}
