/** A workspace as the operator sees it: its owner, its plan, what it uses, and what its classifier has learned. */

import { z } from 'zod'
import type { ReadSettings } from '../../../base/config/live-config.js'
import { limitsOfPlan } from '../../../base/config/plans.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { readTrainingState } from '../../../inbound/spam/bayes/training-state.js'
import type { InboundBytes } from '../../../workspaces/accounts/limits/inbound-bytes.js'
import { EMAILS, monthWindow, sumSince, windowStart } from '../../../workspaces/accounts/limits/usage.js'
import { countMembers } from '../../../workspaces/accounts/people/members.js'
import { findOperatorWorkspace } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import type { workspaceWithOwner } from '../../../workspaces/accounts/workspace/workspaces.js'
import { timestamp, uuid } from '../http/input/values.js'

const messages = z.strictObject({ spam: z.int(), ham: z.int() })

export const operatedWorkspace = z
  .strictObject({
    id: z.string().meta({ example: 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' }),
    name: z.string(),
    slug: z.string(),
    plan: z.string(),
    plan_known: z
      .boolean()
      .meta({ description: 'False: the configuration has no such plan, the default plan counts.' }),
    created_at: timestamp,
    is_operator: z.boolean(),
    owner: z.strictObject({ id: uuid, email: z.string(), has_password: z.boolean() }),
    members: z.int(),
    emails_sent: z.int().meta({ description: 'By all workspaces of the owner in the last 30 days.' }),
    emails_limit: z.int().nullable(),
    inbound_bytes: z.int(),
    inbound_limit: z.int().nullable(),
    spam_training: z.strictObject({
      learned: messages,
      recent: messages.meta({ description: 'Received in the last 180 days.' }),
      words: z.int(),
      seasoned: z.boolean().meta({ description: 'Enough is learned for the full weight of the classifier.' }),
    }),
  })
  .meta({ id: 'OperatedWorkspace' })

export interface WorkspaceViewDeps {
  readonly read: Read
  readonly limits: { readonly inboundBytes: InboundBytes }
  readonly settings: ReadSettings
}

type Row = Awaited<ReturnType<typeof workspaceWithOwner>>[number]

export async function showOperatedWorkspace(
  { read, limits: { inboundBytes }, settings }: WorkspaceViewDeps,
  { id, name, slug, plan, created_at, owner_id, owner_email, owner_password }: Row,
  now: number,
): Promise<z.output<typeof operatedWorkspace>> {
  const { plans, default_plan } = settings().limits
  const ownLimits = limitsOfPlan(plans, plan)
  const limits = ownLimits ?? limitsOfPlan(plans, default_plan) ?? {}
  return {
    ...{ id, name, slug, plan, plan_known: ownLimits !== undefined, created_at: iso(created_at) },
    is_operator: (await findOperatorWorkspace(read)) === id,
    owner: { id: owner_id, email: owner_email, has_password: owner_password !== null },
    members: (await countMembers(read, { workspaceId: id }))[0]?.count ?? 0,
    emails_sent: await sumSince(read, owner_id, EMAILS, windowStart(monthWindow, now)),
    emails_limit: limits.emails_per_month ?? null,
    inbound_bytes: await inboundBytes.readHeld(id),
    inbound_limit: await inboundBytes.limitOf(id),
    spam_training: await readTrainingState(read, id, now),
  }
}
