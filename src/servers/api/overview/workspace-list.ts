/** Reads the concerns of a workspace, of each kind at most `MAX_LISTED`. */
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Concern } from '../../../operations/concerns/concern.js'
import {
  listHeldMailConcerns,
  listLimitConcerns,
  toBreakerConcern,
  toBroadcastConcern,
  toCodesConcern,
  toDomainConcern,
  toWebhookConcern,
} from '../../../operations/concerns/workspace-concerns.js'
import { type BreakerState, statesOfWorkspace } from '../../../outbound/breaker/breaker-states.js'
import { describeFinding } from '../../../outbound/breaker/judge-figures.js'
import { findOwnersHold } from '../../../outbound/breaker/owners-hold.js'
import { stalledBroadcasts } from '../../../outbound/broadcasts/stalled-broadcasts.js'
import { countQueue } from '../../../records/messages/queue/queue-counts.js'
import type { InboundBytes } from '../../../workspaces/accounts/limits/inbound-bytes.js'
import type { WorkspacePlans } from '../../../workspaces/accounts/limits/plans.js'
import { readUsage } from '../../../workspaces/accounts/limits/usage.js'
import { readTroubledDomains } from '../../../workspaces/domains/troubled-domains.js'
import { holdsOfWorkspace } from '../../../workspaces/sms/holds.js'
import { webhooksOfWorkspace } from '../../../workspaces/webhooks/webhook-records.js'

export interface WorkspaceListDeps {
  readonly read: Read
  readonly limits: { readonly plans: WorkspacePlans; readonly inboundBytes: InboundBytes }
}

const MAX_LISTED = 20

interface Listed {
  readonly workspaceId: string
  readonly actsForOperator: boolean
  readonly now: number
}

export async function listWorkspaceConcerns(
  { read, limits }: WorkspaceListDeps,
  { workspaceId, actsForOperator, now }: Listed,
): Promise<readonly Concern[]> {
  const breakers = await readBreakers(read, workspaceId)
  const isBroken = breakers.some(({ state }) => state === 'held')
  return [
    ...(await readTroubledDomains(read, workspaceId, MAX_LISTED)).map(toDomainConcern),
    ...(await listWebhooks(read, workspaceId)),
    ...breakers.map((row) => toBreakerConcern(workspaceId, row)),
    ...(await listLimits(read, limits, workspaceId, now)),
    ...listHeldMailConcerns(await countQueue(read, workspaceId, now), { actsForOperator, isBroken }),
    ...(await stalledBroadcasts(read, { workspaceId, limit: MAX_LISTED })).map(toBroadcastConcern),
    ...(await holdsOfWorkspace(read, { workspaceId, now, limit: MAX_LISTED })).map((hold) =>
      toCodesConcern(workspaceId, hold),
    ),
  ]
}

type ShownBreaker = Parameters<typeof toBreakerConcern>[1]

async function readBreakers(read: Read, workspaceId: string): Promise<readonly ShownBreaker[]> {
  const own = await statesOfWorkspace(read, { workspaceId, limit: MAX_LISTED })
  const others = (await findOwnersHold(read, workspaceId)) ?? null
  const isShown = others === null || own.some(({ subject }) => subject === others.subject)
  return [...(isShown ? [] : [others]), ...own].map(toShownBreaker)
}

function toShownBreaker(row: BreakerState): ShownBreaker {
  const { scope, subject: id, state, cause } = row
  return { scope, id, state, cause, reason: describeFinding(row) }
}

async function listWebhooks(read: Read, workspaceId: string): Promise<readonly Concern[]> {
  return (await webhooksOfWorkspace(read, { workspaceId }))
    .filter(({ enabled, disabled_reason, failing_since }) =>
      enabled === 1 ? failing_since !== null : disabled_reason !== null,
    )
    .slice(0, MAX_LISTED)
    .map(toWebhookConcern)
}

async function listLimits(
  read: Read,
  { plans, inboundBytes }: WorkspaceListDeps['limits'],
  workspaceId: string,
  now: number,
): Promise<readonly Concern[]> {
  const usage = await readUsage(read, workspaceId, plans.find(workspaceId), now)
  const [held, limit] = [await inboundBytes.readHeld(workspaceId), await inboundBytes.limitOf(workspaceId)]
  const [used, allowed, name] =
    'usage' in usage
      ? [usage.usage.emails_sent, usage.usage.emails_limit, 'emails of the last 30 days']
      : [usage.credits_used, usage.credits_total, 'credits']
  return [
    ...listLimitConcerns({
      ...{ used, limit: allowed, effect: 'Nothing more' },
      text: `${formatCount(used)} of ${formatCount(allowed ?? 0)} ${name} are used.`,
    }),
    ...listLimitConcerns({
      ...{ used: held, limit, effect: 'No inbound mail' },
      text: `Stored inbound mail uses ${formatMegabytes(held)} of ${formatMegabytes(limit ?? 0)}.`,
    }),
  ]
}

function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

function formatMegabytes(bytes: number): string {
  return `${formatCount(Math.ceil(bytes / 1_000_000))} MB`
}
