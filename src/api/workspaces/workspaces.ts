/**
 * Workspaces: those that the key's user belongs to, whichever workspace the key is of.
 *
 * Deleting one answers when it is closed for good, on disk: no key of it works, nothing is
 * accepted and nothing signed for it. Its records are erased after that.
 */
import { z } from 'zod'
import { actorOf, recordAct } from '../../accounts/audit-log.js'
import { countWithinHour } from '../../accounts/limits/hourly-limit.js'
import { WORKSPACES } from '../../accounts/limits/usage.js'
import { operatorWorkspace } from '../../accounts/operator-workspace.js'
import { membersCount, stillAdministrates, stillBelongs } from '../../accounts/people/members.js'
import { userById } from '../../accounts/people/users.js'
import type { Principal } from '../../accounts/principal.js'
import {
  changeWorkspace,
  newWorkspace,
  ownedCount,
  stillOwns,
  workspaceOfUser,
  workspacesOfUser,
} from '../../accounts/workspaces.js'
import { Refusal } from '../../mail/refusal.js'
import { timestamp as iso } from '../../platform/clock.js'
import { type InTurn, inTurn } from '../../platform/in-turn.js'
import { closeWorkspace } from '../../storage/maintenance/erase.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE } from '../../storage/tables/tables.js'
import { unlessMissed } from '../../storage/writer/unless-missed.js'
import { type Commit, ConstraintViolated, type Write } from '../../storage/writer/write.js'
import { notFound } from '../http/input/values.js'
import { type Answer, type Call, json, type Route, route } from '../http/route.js'
import { inNamed, slice, userOf } from './named-workspace.js'
import { workspaceChange as change, detailed, wantedWorkspace, workspace } from './workspace-fields.js'

export interface WorkspaceDeps {
  readonly read: Read
  readonly commit: Commit
  /** Of new ones. */
  readonly plan: string
  /** It is closed: nothing that was remembered of it counts any more, and the rest is to be erased. */
  readonly closed: (workspaceId: string) => void
}

/** That one person may own. */
const MAX_OWNED = 100
/** Making and deleting one costs everybody what the daemon remembers. */
const PER_HOUR = 30
const creations = { kind: WORKSPACES, most: PER_HOUR, act: `make ${PER_HOUR} workspaces` }

const of = <Shape extends z.ZodType>(data: Shape) => z.strictObject({ data })

const tag = 'Workspaces'

interface OwnDeps extends WorkspaceDeps {
  /** Choosing a slug. */
  readonly inTurn: InTurn
}

export function workspaceRoutes(given: WorkspaceDeps): readonly Route[] {
  const deps = { ...given, inTurn: inTurn() }
  return [list(deps), create(deps), show(deps), patch(deps), remove(deps)]
}

function list({ read }: WorkspaceDeps): Route {
  return route({
    method: 'GET',
    path: '/workspaces',
    area: 'named-read',
    tag,
    summary: 'List the workspaces that you belong to, oldest first',
    description: 'A key that may only read sees its own workspace.',
    query: z.strictObject(slice),
    answers: { 200: { description: 'Some of them.', schema: of(z.array(workspace)) } },
    refusals: [],
    run: ({ principal, query }) => {
      const userId = userOf(principal)
      const rows = principal.scopes.includes('full')
        ? workspacesOfUser(read, { userId, ...query })
        : workspaceOfUser(read, { userId, workspaceId: principal.workspaceId }).slice(query.offset)
      return json(200, { data: rows.map(shown) })
    },
  })
}

function create(deps: OwnDeps): Route {
  return route({
    method: 'POST',
    path: '/workspaces',
    area: 'named',
    tag,
    summary: 'Make a workspace, which is yours',
    description: 'A key for it comes from POST /v1/api-keys with its `workspace_id`.',
    body: wantedWorkspace,
    answers: { 201: { description: 'The workspace.', schema: of(workspace) } },
    refusals: ['conflict'],
    run: async ({ principal, body, now }) => {
      const userId = userOf(principal)
      const { name, icon_url: iconUrl = null } = body
      const { read, plan } = deps
      requireRoom(read, userId)
      await countWithinHour(deps, creations, principal.workspaceId, now)
      const id = await whenSlugIsFree({ ...deps, commit: byTheLiving(deps, principal.workspaceId, userId) }, () => {
        const made = newWorkspace(read, { name, iconUrl, userId, plan, now })
        const action = 'workspace.created'
        const details = { name, owner: userId }
        const act = recordAct({
          workspaceId: made.id,
          actor: actorOf(principal),
          action,
          target: made.id,
          at: now,
          details,
        })
        return { of: made.id, writes: [...made.writes, act] }
      })
      return json(201, { data: ofCaller(read, principal, id) })
    },
  })
}

/** A commit of one who still belongs to the key's workspace: where it has ended meanwhile, they may be forgotten with it. */
function byTheLiving({ commit }: WorkspaceDeps, workspaceId: string, userId: string): Commit {
  return async (writes) => {
    if (await unlessMissed(commit([stillBelongs({ workspaceId, userId }), ...writes]))) return
    throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  }
}

function requireRoom(read: Read, userId: string): void {
  const count = ownedCount(read, { userId })[0]?.count ?? 0
  if (count < MAX_OWNED) return
  throw new Refusal('conflict', `one person may own ${MAX_OWNED} workspaces`, { limit: MAX_OWNED, count })
}

/** One after the other, so that no two choose the same; where another process did, it chooses again. */
function whenSlugIsFree<T>({ inTurn, commit }: Pick<OwnDeps, 'inTurn' | 'commit'>, make: () => Made<T>): Promise<T> {
  return inTurn(() => committedWithSlug(commit, make))
}

interface Made<T> {
  readonly of: T
  readonly writes: readonly Write[]
}

async function committedWithSlug<T>(commit: Commit, make: () => Made<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    const made = make()
    try {
      await commit(made.writes)
      return made.of
    } catch (error) {
      if (!(error instanceof ConstraintViolated) || attempt === SLUG_ATTEMPTS) throw error
    }
  }
}

const SLUG_ATTEMPTS = 5

function show({ read }: WorkspaceDeps): Route {
  return route({
    method: 'GET',
    path: '/workspaces/:id',
    area: 'named-read',
    tag,
    summary: 'Show a workspace',
    answers: { 200: { description: 'The workspace.', schema: of(detailed) } },
    refusals: ['not_found'],
    run: ({ principal, params: { id = '' } }) => {
      const { workspaceId } = inNamed(read, principal, id, 'admin-read')
      const member_count = membersCount(read, { workspaceId })[0]?.count ?? 0
      return json(200, { data: { ...ofCaller(read, principal, id), member_count } })
    },
  })
}

function patch(deps: OwnDeps): Route {
  return route({
    method: 'PATCH',
    path: '/workspaces/:id',
    area: 'named',
    tag,
    summary: 'Rename a workspace, or give it another icon',
    description: 'For owner and admins. The slug follows the name.',
    body: change,
    answers: { 200: { description: 'The workspace.', schema: of(workspace) } },
    refusals: ['not_found'],
    run: (call) => changed(deps, call),
  })
}

async function changed(
  deps: OwnDeps,
  { principal, params: { id = '' }, body, now }: Call<undefined, z.output<typeof change>>,
): Promise<Answer> {
  const { read } = deps
  const { workspaceId, userId } = inNamed(read, principal, id, 'admin')
  const { name, icon_url: iconUrl } = body
  if (name !== undefined || iconUrl !== undefined) {
    const act = { workspaceId, actor: actorOf(principal), action: 'workspace.changed', target: id, at: now } as const
    await whenSlugIsFree({ ...deps, commit: orGone(deps, principal, id) }, () => ({
      of: id,
      writes: [
        stillAdministrates({ workspaceId, userId }),
        ...changeWorkspace(read, id, { name, iconUrl }),
        recordAct({ ...act, details: body }),
      ],
    }))
  }
  return json(200, { data: ofCaller(read, principal, id) })
}

/** A commit whose miss says what the caller may not do any more. */
function orGone({ read, commit }: WorkspaceDeps, principal: Principal, id: string): Commit {
  return async (writes) => {
    if (await unlessMissed(commit(writes))) return
    inNamed(read, principal, id, 'admin')
    throw notFound('not-found', 'workspace', id)
  }
}

function remove({ read, commit, closed }: WorkspaceDeps): Route {
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
        schema: of(z.strictObject({ deleted: z.literal(true), id: workspace.shape.id })),
      },
    },
    refusals: ['not_found', 'conflict'],
    run: async ({ principal, params: { id = '' }, now }) => {
      const { workspaceId, userId } = inNamed(read, principal, id, 'owner')
      refuseOperators(read, workspaceId)
      const act = deletion(read, principal, workspaceId, now)
      const writes = [stillOwns({ workspaceId, userId }), ...closeWorkspace(workspaceId, now), act]
      if (!(await unlessMissed(commit(writes)))) {
        inNamed(read, principal, id, 'owner')
        refuseOperators(read, workspaceId)
        throw notFound('not-found', 'workspace', id)
      }
      closed(workspaceId)
      return json(200, { data: { deleted: true, id } })
    },
  })
}

/** Mail to the postmaster of the service is filed there. Throws a Refusal. */
function refuseOperators(read: Read, id: string): void {
  if (operatorWorkspace(read) !== id) return
  const mend = 'the operator of the service may name another one with "posthorn workspace set-operator"'
  throw new Refusal('conflict', `the operator's workspace, where mail to postmaster is filed, stays: ${mend}`, { id })
}

/** In the log of the service: that of the workspace is erased with it, and so may be who deleted it. */
function deletion(read: Read, principal: Principal, id: string, at: number): Write {
  const { name, slug } = ofCaller(read, principal, id)
  const email = userById(read, { id: userOf(principal) })[0]?.email
  return recordAct({
    workspaceId: SERVICE,
    actor: actorOf(principal),
    action: 'workspace.deleted',
    target: id,
    at,
    details: { name, slug, by_email: email },
  })
}

type Row = ReturnType<typeof workspaceOfUser>[number]

function ofCaller(read: Read, principal: Principal, id: string): z.output<typeof workspace> {
  const [row] = workspaceOfUser(read, { userId: userOf(principal), workspaceId: id })
  if (row === undefined) throw notFound('not-found', 'workspace', id)
  return shown(row)
}

function shown({ id, name, slug, icon_url, owner_id, role, created_at }: Row): z.output<typeof workspace> {
  return { id, name, slug, icon_url, owner_id, role, created_at: iso(created_at) }
}
