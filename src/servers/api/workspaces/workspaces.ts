/**
 * The routes of workspaces: list, create, show, change, delete those that the key's user belongs to.
 *
 * A deletion is answered when the workspace is closed on disk: none of its keys works, nothing is
 * accepted or signed for it. Its records are erased afterwards.
 */
import { z } from 'zod'
import type { ReadSettings } from '../../../base/config/live-config.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { createSerialRunner, type SerialRunner } from '../../../base/platform/serial-runner.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type Commit, ConstraintViolated, tryCommit, type Write } from '../../../base/storage/db/write.js'
import { closeWorkspace } from '../../../base/storage/maintenance/erase.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { requireNothingHeld } from '../../../outbound/breaker/owners-hold.js'
import { actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { reachesAllWorkspaces } from '../../../workspaces/accounts/keys/key-limits.js'
import { countWithinHour } from '../../../workspaces/accounts/limits/hourly-limit.js'
import type { WorkspacePlans } from '../../../workspaces/accounts/limits/plans.js'
import { WORKSPACES } from '../../../workspaces/accounts/limits/usage.js'
import { countMembers, requireAdministrator, requireMember } from '../../../workspaces/accounts/people/members.js'
import { userById } from '../../../workspaces/accounts/people/users.js'
import { changeMailFooter } from '../../../workspaces/accounts/workspace/mail-footer.js'
import { findOperatorWorkspace } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import {
  buildWorkspace,
  changeWorkspace,
  countOwned,
  requireOwner,
  workspaceOfUser,
  workspacesOfUser,
} from '../../../workspaces/accounts/workspace/workspaces.js'
import { planOfNewWorkspace, requireMakersWorkspace } from '../../../workspaces/accounts/workspace-maker.js'
import type { Changes } from '../changes.js'
import { type Answer, json } from '../http/answer.js'
import { notFound } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { authorizeInWorkspace, requireUserOf, sliceFields } from './named-workspace.js'
import { workspaceChange as change, detailedWorkspace, workspace, workspaceRequest } from './workspace-fields.js'

interface WorkspaceDeps extends Store {
  readonly limits: { readonly plans: WorkspacePlans }
  readonly settings: ReadSettings
  readonly changes: Changes
}

/** Workspaces that one user may own. */
const MAX_OWNED = 100
const MAX_PER_HOUR = 30 // creating or deleting one drops caches of all workspaces
const creationLimit = { kind: WORKSPACES, max: MAX_PER_HOUR, actionText: `create ${MAX_PER_HOUR} workspaces` }

const withData = <Shape extends z.ZodType>(data: Shape) => z.strictObject({ data })

const tag = 'Workspaces'

interface WorkspaceRouteDeps extends WorkspaceDeps {
  /** Serializes the commits that choose a slug. */
  readonly inTurn: SerialRunner
}

export function workspaceRoutes(given: WorkspaceDeps): readonly Route[] {
  const deps = { ...given, inTurn: createSerialRunner() }
  return [listRoute(deps), createRoute(deps), showRoute(deps), patchRoute(deps), removeRoute(deps)]
}

function listRoute({ read }: WorkspaceDeps): Route {
  return route({
    method: 'GET',
    path: '/workspaces',
    area: 'named-read',
    tag,
    summary: 'List the workspaces that you belong to, oldest first',
    description: 'A restricted key (scopes, expiry, networks, domains) sees its own workspace.',
    query: z.strictObject(sliceFields),
    answers: { 200: { description: 'Some of them.', schema: withData(z.array(workspace)) } },
    refusals: [],
    run: async ({ principal, query }) => {
      const userId = requireUserOf(principal)
      const rows = (await reachesAllWorkspaces(read, principal))
        ? await workspacesOfUser(read, { userId, ...query })
        : (await workspaceOfUser(read, { userId, workspaceId: principal.workspaceId })).slice(query.offset)
      return json(200, { data: rows.map(toWorkspaceResource) })
    },
  })
}

function createRoute(deps: WorkspaceRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/workspaces',
    area: 'named',
    tag,
    summary: 'Create a workspace that you own',
    description:
      'For owners of a workspace, or for the operator alone where `limits.create_workspaces` says so; with an ' +
      'unrestricted key. It has at most the plan of your workspace, and your workspaces count together. ' +
      'POST /v1/api-keys with its `workspace_id` creates a key for it.',
    body: workspaceRequest,
    answers: { 201: { description: 'The workspace.', schema: withData(workspace) } },
    refusals: ['conflict'],
    run: (call) => createWorkspace(deps, call),
  })
}

async function createWorkspace(
  deps: WorkspaceRouteDeps,
  { principal, body, now }: Call<undefined, z.output<typeof workspaceRequest>>,
): Promise<Answer> {
  const userId = requireUserOf(principal)
  const { name, icon_url: iconUrl = null } = body
  const { read } = deps
  const { limits } = deps.settings()
  const plan = planOfNewWorkspace(limits, deps.limits.plans.find(await requireMakersWorkspace(read, principal, limits)))
  await checkOwnedLimit(read, userId)
  await countWithinHour(deps, creationLimit, userId, now)
  const commit = createMemberCommit(deps, principal.workspaceId, userId)
  const id = await commitWithFreeSlug({ ...deps, commit }, async () => {
    const { id: target, writes } = await buildWorkspace(read, { name, iconUrl, userId, plan, now })
    const act = recordAuditEntry({
      ...{ workspaceId: target, actor: actorOf(principal), at: now },
      ...{ action: 'workspace.created', target, details: { name, owner: userId } },
    })
    return { result: target, writes: [...writes, act] }
  })
  await deps.changes.workspaceChanged(id)
  return json(201, { data: await workspaceOfCaller(read, principal, id) })
}

/** A commit that asserts that the user still belongs to the key's workspace; its deletion may erase the user too. */
function createMemberCommit({ commit }: WorkspaceDeps, workspaceId: string, userId: string): Commit {
  return async (writes) => {
    if (await tryCommit(commit([requireMember({ workspaceId, userId }), ...writes]))) return
    throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  }
}

async function checkOwnedLimit(read: Read, userId: string): Promise<void> {
  const count = (await countOwned(read, { userId }))[0]?.count ?? 0
  if (count < MAX_OWNED) return
  throw new Refusal('conflict', `a user may own at most ${MAX_OWNED} workspaces`, { limit: MAX_OWNED, count })
}

/** Commits one after the other, so that no two choose the same slug; tries again if another process took it. */
function commitWithFreeSlug<T>({ inTurn, commit }: WorkspaceRouteDeps, make: MakeChange<T>): Promise<T> {
  return inTurn(() => retrySlugCommit(commit, make))
}

interface PreparedChange<T> {
  readonly result: T
  readonly writes: readonly Write[]
}

type MakeChange<T> = () => Promise<PreparedChange<T>>

async function retrySlugCommit<T>(commit: Commit, make: MakeChange<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    const change = await make()
    try {
      await commit(change.writes)
      return change.result
    } catch (error) {
      if (!(error instanceof ConstraintViolated) || attempt === MAX_SLUG_ATTEMPTS) throw error
    }
  }
}

const MAX_SLUG_ATTEMPTS = 5

function showRoute({ read }: WorkspaceDeps): Route {
  return route({
    method: 'GET',
    path: '/workspaces/:id',
    area: 'named-read',
    tag,
    summary: 'Show a workspace',
    answers: { 200: { description: 'The workspace.', schema: withData(detailedWorkspace) } },
    refusals: ['not_found'],
    run: async ({ principal, params: { id = '' } }) => {
      const { workspaceId } = await authorizeInWorkspace(read, principal, id, 'admin-read')
      const member_count = (await countMembers(read, { workspaceId }))[0]?.count ?? 0
      return json(200, { data: { ...(await workspaceOfCaller(read, principal, id)), member_count } })
    },
  })
}

function patchRoute(deps: WorkspaceRouteDeps): Route {
  return route({
    method: 'PATCH',
    path: '/workspaces/:id',
    area: 'named',
    tag,
    summary: 'Change the name, the icon, the language or the postal address of a workspace',
    description: 'For owner and admins. The slug follows the name.',
    body: change,
    answers: { 200: { description: 'The workspace.', schema: withData(workspace) } },
    refusals: ['not_found'],
    run: (call) => patchWorkspace(deps, call),
  })
}

async function patchWorkspace(
  deps: WorkspaceRouteDeps,
  { principal, params: { id = '' }, body, now }: Call<undefined, z.output<typeof change>>,
): Promise<Answer> {
  const { read } = deps
  const { workspaceId, userId } = await authorizeInWorkspace(read, principal, id, 'admin')
  const { name, icon_url: iconUrl, language, postal_address: postalAddress } = body
  if ([name, iconUrl, language, postalAddress].some((value) => value !== undefined)) {
    const act = { workspaceId, actor: actorOf(principal), action: 'workspace.changed', target: id, at: now } as const
    await commitWithFreeSlug({ ...deps, commit: createCheckedCommit(deps, principal, id) }, async () => ({
      result: id,
      writes: [
        requireAdministrator({ workspaceId, userId }),
        ...(await changeWorkspace(read, id, { name, iconUrl })),
        ...changeMailFooter(id, { language, postalAddress }),
        recordAuditEntry({ ...act, details: body }),
      ],
    }))
  }
  return json(200, { data: await workspaceOfCaller(read, principal, id) })
}

/** A commit that explains a miss by what the caller may no longer do. */
function createCheckedCommit({ read, commit }: WorkspaceDeps, principal: Principal, id: string): Commit {
  return async (writes) => {
    if (await tryCommit(commit(writes))) return
    await authorizeInWorkspace(read, principal, id, 'admin')
    throw notFound('not-found', 'workspace', id)
  }
}

function removeRoute({ read, commit, changes }: WorkspaceDeps): Route {
  return route({
    method: 'DELETE',
    path: '/workspaces/:id',
    area: 'named',
    tag,
    summary: 'Delete a workspace and everything in it permanently',
    description:
      "For its owner. When it is answered, the keys no longer work and nothing more is sent. The operator's " +
      'workspace cannot be deleted.',
    answers: {
      200: {
        description: 'It is gone.',
        schema: withData(z.strictObject({ deleted: z.literal(true), id: workspace.shape.id })),
      },
    },
    refusals: ['not_found', 'conflict'],
    run: async ({ principal, params: { id = '' }, now }) => {
      const { workspaceId, userId } = await authorizeInWorkspace(read, principal, id, 'owner')
      await refuseOperatorWorkspace(read, workspaceId)
      await requireNothingHeld(read, workspaceId, 'deleted')
      const act = await recordDeletion(read, principal, workspaceId, now)
      const writes = [requireOwner({ workspaceId, userId }), ...closeWorkspace(workspaceId, now), act]
      if (!(await tryCommit(commit(writes)))) {
        await authorizeInWorkspace(read, principal, id, 'owner')
        await refuseOperatorWorkspace(read, workspaceId)
        throw notFound('not-found', 'workspace', id)
      }
      await changes.workspaceClosed(workspaceId)
      return json(200, { data: { deleted: true, id } })
    },
  })
}

/** Throws a Refusal for the operator's workspace, which receives mail to the postmaster of the service. */
async function refuseOperatorWorkspace(read: Read, id: string): Promise<void> {
  if ((await findOperatorWorkspace(read)) !== id) return
  const fix = 'the operator of the service may choose another one with "posthorn workspace set-operator"'
  const message = `the operator's workspace receives mail to postmaster and cannot be deleted: ${fix}`
  throw new Refusal('conflict', message, { id })
}

/**
 * The deletion is in the log of the service, since the log of the workspace is erased with it, and perhaps the user
 * too.
 */
async function recordDeletion(read: Read, principal: Principal, id: string, at: number): Promise<Write> {
  const { name, slug } = await workspaceOfCaller(read, principal, id)
  const email = (await userById(read, { id: requireUserOf(principal) }))[0]?.email
  return recordAuditEntry({
    ...{ workspaceId: SERVICE_WORKSPACE, actor: actorOf(principal), action: 'workspace.deleted', target: id, at },
    details: { name, slug, by_email: email },
  })
}

type Row = Awaited<ReturnType<typeof workspaceOfUser>>[number]

async function workspaceOfCaller(read: Read, principal: Principal, id: string): Promise<z.output<typeof workspace>> {
  const [row] = await workspaceOfUser(read, { userId: requireUserOf(principal), workspaceId: id })
  if (row === undefined) throw notFound('not-found', 'workspace', id)
  return toWorkspaceResource(row)
}

function toWorkspaceResource({ created_at, ...row }: Row): z.output<typeof workspace> {
  return { ...row, created_at: iso(created_at) }
}
