/**
 * Workspaces: those that the key's user belongs to, whichever workspace the key is of.
 *
 * Deleting one answers when it is closed for good, on disk: no key of it works, nothing is
 * accepted and nothing signed for it. Its records are erased after that.
 */
import { z } from 'zod'
import { actorOf, recordAuditEntry } from '../../accounts/audit-log.js'
import { countWithinHour } from '../../accounts/limits/hourly-limit.js'
import { WORKSPACES } from '../../accounts/limits/usage.js'
import { findOperatorWorkspace } from '../../accounts/operator-workspace.js'
import { countMembers, requireAdministrator, requireMember } from '../../accounts/people/members.js'
import { userById } from '../../accounts/people/users.js'
import type { Principal } from '../../accounts/principal.js'
import {
  buildWorkspace,
  changeWorkspace,
  countOwned,
  requireOwner,
  workspaceOfUser,
  workspacesOfUser,
} from '../../accounts/workspaces.js'
import { Refusal } from '../../mail/refusal.js'
import { formatTimestamp as iso } from '../../platform/clock.js'
import { createSerialRunner, type SerialRunner } from '../../platform/serial-runner.js'
import type { Store } from '../../storage/database.js'
import { closeWorkspace } from '../../storage/maintenance/erase.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import { type Commit, ConstraintViolated, tryCommit, type Write } from '../../storage/writer/write.js'
import { notFound } from '../http/input/values.js'
import { type Answer, type Call, json, type Route, route } from '../http/route.js'
import { authorizeInWorkspace, requireUser, sliceFields } from './named-workspace.js'
import { workspaceChange as change, detailedWorkspace, workspace, workspaceRequest } from './workspace-fields.js'

export interface WorkspaceDeps extends Store {
  /** Of new ones. */
  readonly plan: string
  /** It is closed: nothing that was remembered of it counts any more, and the rest is to be erased. */
  readonly onWorkspaceClosed: (workspaceId: string) => void
}

/** That one person may own. */
const MAX_OWNED = 100
/** Making and deleting one costs everybody what the daemon remembers. */
const MAX_PER_HOUR = 30
const creationLimit = { kind: WORKSPACES, max: MAX_PER_HOUR, actionText: `make ${MAX_PER_HOUR} workspaces` }

const withData = <Shape extends z.ZodType>(data: Shape) => z.strictObject({ data })

const tag = 'Workspaces'

interface WorkspaceRouteDeps extends WorkspaceDeps {
  /** Choosing a slug. */
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
    description: 'A key that may only read sees its own workspace.',
    query: z.strictObject(sliceFields),
    answers: { 200: { description: 'Some of them.', schema: withData(z.array(workspace)) } },
    refusals: [],
    run: ({ principal, query }) => {
      const userId = requireUser(principal)
      const rows = principal.scopes.includes('full')
        ? workspacesOfUser(read, { userId, ...query })
        : workspaceOfUser(read, { userId, workspaceId: principal.workspaceId }).slice(query.offset)
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
    summary: 'Make a workspace, which is yours',
    description: 'A key for it comes from POST /v1/api-keys with its `workspace_id`.',
    body: workspaceRequest,
    answers: { 201: { description: 'The workspace.', schema: withData(workspace) } },
    refusals: ['conflict'],
    run: async ({ principal, body, now }) => {
      const userId = requireUser(principal)
      const { name, icon_url: iconUrl = null } = body
      const { read, plan } = deps
      checkOwnedLimit(read, userId)
      await countWithinHour(deps, creationLimit, principal.workspaceId, now)
      const id = await commitWithFreeSlug(
        { ...deps, commit: createMemberCommit(deps, principal.workspaceId, userId) },
        () => {
          const made = buildWorkspace(read, { name, iconUrl, userId, plan, now })
          const action = 'workspace.created'
          const details = { name, owner: userId }
          const act = recordAuditEntry({
            workspaceId: made.id,
            actor: actorOf(principal),
            action,
            target: made.id,
            at: now,
            details,
          })
          return { result: made.id, writes: [...made.writes, act] }
        },
      )
      return json(201, { data: workspaceOfCaller(read, principal, id) })
    },
  })
}

/** A commit of one who still belongs to the key's workspace: where it has ended meanwhile, they may be forgotten with it. */
function createMemberCommit({ commit }: WorkspaceDeps, workspaceId: string, userId: string): Commit {
  return async (writes) => {
    if (await tryCommit(commit([requireMember({ workspaceId, userId }), ...writes]))) return
    throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  }
}

function checkOwnedLimit(read: Read, userId: string): void {
  const count = countOwned(read, { userId })[0]?.count ?? 0
  if (count < MAX_OWNED) return
  throw new Refusal('conflict', `one person may own ${MAX_OWNED} workspaces`, { limit: MAX_OWNED, count })
}

/** One after the other, so that no two choose the same; where another process did, it chooses again. */
function commitWithFreeSlug<T>(
  { inTurn, commit }: Pick<WorkspaceRouteDeps, 'inTurn' | 'commit'>,
  make: () => PreparedChange<T>,
): Promise<T> {
  return inTurn(() => retrySlugCommit(commit, make))
}

interface PreparedChange<T> {
  readonly result: T
  readonly writes: readonly Write[]
}

async function retrySlugCommit<T>(commit: Commit, make: () => PreparedChange<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    const made = make()
    try {
      await commit(made.writes)
      return made.result
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
    run: ({ principal, params: { id = '' } }) => {
      const { workspaceId } = authorizeInWorkspace(read, principal, id, 'admin-read')
      const member_count = countMembers(read, { workspaceId })[0]?.count ?? 0
      return json(200, { data: { ...workspaceOfCaller(read, principal, id), member_count } })
    },
  })
}

function patchRoute(deps: WorkspaceRouteDeps): Route {
  return route({
    method: 'PATCH',
    path: '/workspaces/:id',
    area: 'named',
    tag,
    summary: 'Rename a workspace, or give it another icon',
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
  const { workspaceId, userId } = authorizeInWorkspace(read, principal, id, 'admin')
  const { name, icon_url: iconUrl } = body
  if (name !== undefined || iconUrl !== undefined) {
    const act = { workspaceId, actor: actorOf(principal), action: 'workspace.changed', target: id, at: now } as const
    await commitWithFreeSlug({ ...deps, commit: createCheckedCommit(deps, principal, id) }, () => ({
      result: id,
      writes: [
        requireAdministrator({ workspaceId, userId }),
        ...changeWorkspace(read, id, { name, iconUrl }),
        recordAuditEntry({ ...act, details: body }),
      ],
    }))
  }
  return json(200, { data: workspaceOfCaller(read, principal, id) })
}

/** A commit whose miss says what the caller may not do any more. */
function createCheckedCommit({ read, commit }: WorkspaceDeps, principal: Principal, id: string): Commit {
  return async (writes) => {
    if (await tryCommit(commit(writes))) return
    authorizeInWorkspace(read, principal, id, 'admin')
    throw notFound('not-found', 'workspace', id)
  }
}

function removeRoute({ read, commit, onWorkspaceClosed }: WorkspaceDeps): Route {
  return route({
    method: 'DELETE',
    path: '/workspaces/:id',
    area: 'named',
    tag,
    summary: 'Delete a workspace and all that is in it, for good',
    description:
      "For its owner. From the answer on none of its keys works and nothing of it is sent. The operator's workspace " +
      'cannot be deleted.',
    answers: {
      200: {
        description: 'It is gone.',
        schema: withData(z.strictObject({ deleted: z.literal(true), id: workspace.shape.id })),
      },
    },
    refusals: ['not_found', 'conflict'],
    run: async ({ principal, params: { id = '' }, now }) => {
      const { workspaceId, userId } = authorizeInWorkspace(read, principal, id, 'owner')
      refuseOperatorWorkspace(read, workspaceId)
      const act = recordDeletion(read, principal, workspaceId, now)
      const writes = [requireOwner({ workspaceId, userId }), ...closeWorkspace(workspaceId, now), act]
      if (!(await tryCommit(commit(writes)))) {
        authorizeInWorkspace(read, principal, id, 'owner')
        refuseOperatorWorkspace(read, workspaceId)
        throw notFound('not-found', 'workspace', id)
      }
      onWorkspaceClosed(workspaceId)
      return json(200, { data: { deleted: true, id } })
    },
  })
}

/** Mail to the postmaster of the service is filed there. Throws a Refusal. */
function refuseOperatorWorkspace(read: Read, id: string): void {
  if (findOperatorWorkspace(read) !== id) return
  const mend = 'the operator of the service may name another one with "posthorn workspace set-operator"'
  throw new Refusal('conflict', `the operator's workspace, where mail to postmaster is filed, stays: ${mend}`, { id })
}

/** In the log of the service: that of the workspace is erased with it, and so may be who deleted it. */
function recordDeletion(read: Read, principal: Principal, id: string, at: number): Write {
  const { name, slug } = workspaceOfCaller(read, principal, id)
  const email = userById(read, { id: requireUser(principal) })[0]?.email
  return recordAuditEntry({
    workspaceId: SERVICE_WORKSPACE,
    actor: actorOf(principal),
    action: 'workspace.deleted',
    target: id,
    at,
    details: { name, slug, by_email: email },
  })
}

type Row = ReturnType<typeof workspaceOfUser>[number]

function workspaceOfCaller(read: Read, principal: Principal, id: string): z.output<typeof workspace> {
  const [row] = workspaceOfUser(read, { userId: requireUser(principal), workspaceId: id })
  if (row === undefined) throw notFound('not-found', 'workspace', id)
  return toWorkspaceResource(row)
}

function toWorkspaceResource({
  id,
  name,
  slug,
  icon_url,
  owner_id,
  role,
  created_at,
}: Row): z.output<typeof workspace> {
  return { id, name, slug, icon_url, owner_id, role, created_at: iso(created_at) }
}
