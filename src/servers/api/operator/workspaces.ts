/** The routes of all workspaces for the operator: list, make one with its owner, give it another plan. */

import { z } from 'zod'
import { limitsOfPlan, type Plans, UNLIMITED } from '../../../base/config/plans.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import type { InboundBytes } from '../../../workspaces/accounts/limits/inbound-bytes.js'
import { setPlan } from '../../../workspaces/accounts/limits/plans.js'
import { userById } from '../../../workspaces/accounts/people/users.js'
import { buildPasswordLink } from '../../../workspaces/accounts/sessions/password-links.js'
import {
  buildOwnedWorkspace,
  buildUniqueSlug,
  workspacesBySlug,
  workspaceWithOwner,
} from '../../../workspaces/accounts/workspace/workspaces.js'
import type { Changes } from '../changes.js'
import { json } from '../http/answer.js'
import { awaitItems, buildPage, pageSchema, slugCursor } from '../http/input/paging.js'
import { address, name, notFound, timestamp, wholeNumber } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'
import { operatedWorkspace, showOperatedWorkspace, type WorkspaceViewDeps } from './workspace-view.js'

interface OperatorWorkspaceDeps extends Store, WorkspaceViewDeps {
  readonly changes: Pick<Changes, 'workspaceChanged'>
  readonly limits: { readonly inboundBytes: InboundBytes }
  readonly publicUrl: string
}

const tag = 'Operator'
const planName = z.string('allowed: the name of a plan').max(100, 'allowed: the name of a plan')
const listQuery = z.strictObject({
  limit: wholeNumber(1, 50).default(25).meta({ description: 'How many at most. Default 25.' }),
  cursor: slugCursor,
  search: z
    .string()
    .max(100, 'allowed: at most 100 characters')
    .optional()
    .meta({ description: 'Only those whose name begins so, in any case.' }),
})
const newWorkspace = z
  .strictObject({ name, email: address, plan: planName.optional() })
  .meta({ id: 'NewOperatedWorkspace', example: { name: 'Shop', email: 'ann@example.com' } })
const change = z.strictObject({ plan: planName }).meta({ id: 'PlanChange', example: { plan: 'pro' } })
const passwordLink = z.strictObject({
  url: z.string().meta({ example: 'https://mx.example.net/ui/set-password#token=Zm9v' }),
  expires_at: timestamp,
})
const created = z.strictObject({
  workspace: operatedWorkspace,
  password_link: passwordLink.nullable().meta({ description: 'Null: the owner has a password.' }),
})

export function operatorWorkspaceRoutes(deps: OperatorWorkspaceDeps): readonly Route[] {
  return [listRoute(deps), plansRoute(deps), createRoute(deps), showRoute(deps), changeRoute(deps), linkRoute(deps)]
}

function listRoute(deps: OperatorWorkspaceDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/workspaces',
    area: 'operator',
    tag,
    summary: 'List all workspaces by name',
    query: listQuery,
    answers: { 200: { description: 'A page.', schema: pageSchema(operatedWorkspace) } },
    refusals: [],
    run: async ({ query: { limit, cursor = '', search = '' }, now }) => {
      const prefix = search.trim() === '' ? '' : await buildUniqueSlug(search, async () => false)
      // `~` comes after each character of a slug.
      const rows = await workspacesBySlug(deps.read, { after: cursor, prefix, end: `${prefix}~`, limit: limit + 1 })
      return json(
        200,
        await awaitItems(
          buildPage(
            rows,
            limit,
            (row) => showOperatedWorkspace(deps, row, now),
            ({ slug }) => slug,
          ),
        ),
      )
    },
  })
}

function plansRoute({ settings }: OperatorWorkspaceDeps): Route {
  const plan = z.strictObject({
    name: z.string(),
    limits: z.record(z.string(), z.int()).meta({ example: { credits: 5 } }),
  })
  return sessionRoute({
    method: 'GET',
    path: '/operator/plans',
    area: 'operator',
    tag,
    summary: 'List the plans',
    answers: {
      200: { description: 'All of them.', schema: z.strictObject({ default_plan: z.string(), data: z.array(plan) }) },
    },
    refusals: [],
    run: () => {
      const { plans, default_plan } = settings().limits
      const data = [UNLIMITED, ...Object.keys(plans)].map((name) => ({ name, limits: limitsOfPlan(plans, name) ?? {} }))
      return json(200, { default_plan, data })
    },
  })
}

function createRoute(deps: OperatorWorkspaceDeps): Route {
  const { read, commit, publicUrl, settings, changes } = deps
  return sessionRoute({
    method: 'POST',
    path: '/operator/workspaces',
    area: 'operator',
    tag,
    summary: 'Make a workspace with its owner',
    description: 'The owner who has no password yet sets one by the link, once, within 24 hours.',
    body: newWorkspace,
    answers: { 201: { description: 'The workspace; the link is shown this once.', schema: created } },
    refusals: ['invalid_email_address'],
    run: async ({ session, body: { name, email, plan = settings().limits.default_plan }, now }) => {
      requirePlan(settings().limits.plans, plan)
      const { workspaceId, userId, writes } = await buildOwnedWorkspace(read, { name, email, plan, now })
      const link = (await hasPassword(deps, userId))
        ? null
        : buildPasswordLink({ userId, purpose: 'set', publicUrl, now })
      const act = recordAuditEntry({
        ...{ workspaceId, actor: { id: session.userId, keyId: null }, at: now },
        ...{ action: 'workspace.created', target: workspaceId, details: { name, owner: userId } },
      })
      await commit([...writes, ...(link === null ? [] : [link.write]), act])
      await changes.workspaceChanged(workspaceId)
      const workspace = await showOperatedWorkspace(deps, await requireWorkspaceRow(deps, workspaceId), now)
      return json(201, { workspace, password_link: showLink(link) })
    },
  })
}

function showRoute(deps: OperatorWorkspaceDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/workspaces/:id',
    area: 'operator',
    tag,
    summary: 'Show a workspace',
    answers: { 200: { description: 'The workspace.', schema: operatedWorkspace } },
    refusals: ['not_found'],
    run: async ({ params: { id = '' }, now }) =>
      json(200, await showOperatedWorkspace(deps, await requireWorkspaceRow(deps, id), now)),
  })
}

function changeRoute(deps: OperatorWorkspaceDeps): Route {
  const { commit, settings, changes } = deps
  return sessionRoute({
    method: 'PATCH',
    path: '/operator/workspaces/:id',
    area: 'operator',
    tag,
    summary: 'Give a workspace another plan',
    body: change,
    answers: { 200: { description: 'The workspace; the plan counts at once.', schema: operatedWorkspace } },
    refusals: ['not_found'],
    run: async ({ session: { userId }, params: { id = '' }, body: { plan }, now }) => {
      requirePlan(settings().limits.plans, plan)
      await requireWorkspaceRow(deps, id)
      const act = recordAuditEntry({
        ...{ workspaceId: id, actor: { id: userId, keyId: null }, at: now },
        ...{ action: 'workspace.plan_changed', target: id, details: { plan } },
      })
      if (!(await tryCommit(commit([setPlan({ workspaceId: id, plan }), act])))) {
        throw notFound('not-found', 'workspace', id)
      }
      await changes.workspaceChanged(id)
      return json(200, await showOperatedWorkspace(deps, await requireWorkspaceRow(deps, id), now))
    },
  })
}

function linkRoute(deps: OperatorWorkspaceDeps): Route {
  const { commit, publicUrl } = deps
  return sessionRoute({
    method: 'POST',
    path: '/operator/workspaces/:id/password-link',
    area: 'operator',
    tag,
    summary: 'Make a new link by which the owner of a workspace sets the first password',
    answers: { 201: { description: 'The link, which is shown this once.', schema: passwordLink } },
    refusals: ['not_found', 'conflict'],
    run: async ({ params: { id = '' }, now }) => {
      const { owner_id: userId } = await requireWorkspaceRow(deps, id)
      if (await hasPassword(deps, userId))
        throw new Refusal('conflict', 'the owner has a password, and can reset it by mail')
      const link = buildPasswordLink({ userId, purpose: 'set', publicUrl, now })
      await commit([link.write])
      return json(201, showLink(link))
    },
  })
}

function showLink(
  link: { readonly url: string; readonly expiresAt: number } | null,
): z.output<typeof passwordLink> | null {
  return link === null ? null : { url: link.url, expires_at: iso(link.expiresAt) }
}

async function hasPassword({ read }: Store, userId: string): Promise<boolean> {
  return ((await userById(read, { id: userId }))[0]?.password_hash ?? null) !== null
}

async function requireWorkspaceRow(
  { read }: Store,
  id: string,
): Promise<Awaited<ReturnType<typeof workspaceWithOwner>>[number]> {
  const [row] = await workspaceWithOwner(read, { id })
  if (row === undefined) throw notFound('not-found', 'workspace', id)
  return row
}

function requirePlan(plans: Plans, plan: string): void {
  if (limitsOfPlan(plans, plan) !== undefined) return
  const known = [UNLIMITED, ...Object.keys(plans)].join(', ')
  const message = `plan: there is no such plan; allowed: ${known}`
  throw new Refusal('invalid-parameter', message, { errors: [{ field: 'plan', message }] })
}
