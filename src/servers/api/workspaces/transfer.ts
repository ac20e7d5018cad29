/**
 * POST /v1/workspaces/:id/transfer: a member becomes the owner, and the former owner an admin, in one commit.
 *
 * Only the owner may do it, with a session in a browser and their password: a key that leaked must not give the
 * workspace away.
 */

import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { requireNothingHeld } from '../../../outbound/breaker/owners-hold.js'
import { actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { memberById, transferOwnership } from '../../../workspaces/accounts/people/members.js'
import { checkOwnPassword } from '../../../workspaces/accounts/sessions/own-account.js'
import { requirePassword, type SignInDeps } from '../../../workspaces/accounts/sessions/sign-in.js'
import { findOperatedBy } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import { addsOwner } from '../../../workspaces/accounts/workspace/workspaces.js'
import type { Changes } from '../changes.js'
import { type Answer, json } from '../http/answer.js'
import { notFound, password, uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { authorizeInWorkspace } from './named-workspace.js'

interface TransferDeps extends SignInDeps {
  readonly changes: Changes
}

const idRule = 'allowed: the id of a member'
const transferRequest = z
  .strictObject({
    member_id: z.string(idRule).max(100, idRule).meta({ description: 'The new owner, a member of the workspace.' }),
    password: password.meta({ description: 'Your own.' }),
  })
  .meta({
    id: 'WorkspaceTransfer',
    example: { member_id: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c', password: 'correct horse battery' },
  })
const transferred = z.strictObject({
  data: z.strictObject({ id: z.string(), owner_id: uuid, former_owner_id: uuid }),
})

export function transferRoute(deps: TransferDeps): Route {
  return route({
    method: 'POST',
    path: '/workspaces/:id/transfer',
    area: 'named',
    tag: 'Workspaces',
    summary: 'Transfer a workspace to another member',
    description: 'For its owner, signed in to the dashboard: a key is refused. The former owner becomes an admin.',
    body: transferRequest,
    answers: { 200: { description: 'It is transferred.', schema: transferred } },
    refusals: ['invalid_credentials', 'not_found', 'conflict'],
    run: (call) => transfer(deps, call),
  })
}

/** Use of the quotas counts by owner: with a new owner for each workspace, there would be no limit. */
async function requireNoNewOwner(read: Read, change: Parameters<typeof addsOwner>[1]): Promise<void> {
  if (!(await addsOwner(read, change)) || (await findOperatedBy(read, change.from)) !== null) return
  throw new Refusal(
    'forbidden',
    'not permitted: you keep a workspace, and this member owns none, so limits would count twice: transfer it to a member who ' +
      'owns a workspace, or ask the operator, who transfers it with "posthorn workspace transfer"',
    { member_id: 'owns no workspace' },
  )
}

async function transfer(
  deps: TransferDeps,
  { principal, params: { id = '' }, body, now }: Call<undefined, z.output<typeof transferRequest>>,
): Promise<Answer> {
  const { read, commit, changes } = deps
  const { workspaceId, userId: ownerId } = await authorizeInWorkspace(read, principal, id, 'owner')
  if (principal.keyId !== null) {
    throw new Refusal('forbidden', 'not permitted: a workspace is transferred in the dashboard, not with a key')
  }
  await requireNothingHeld(read, workspaceId, 'transferred')
  const { user_id: newOwnerId } = await requireOtherMember(deps, workspaceId, ownerId, body.member_id)
  await requireNoNewOwner(read, { workspaceId, from: ownerId, to: newOwnerId })
  const { password_hash: hash } = await checkOwnPassword(deps, ownerId, body.password, now)
  const writes = [
    requirePassword({ userId: ownerId, hash }),
    ...transferOwnership({ workspaceId, ownerId, newOwnerId }),
    recordAuditEntry({
      ...{ workspaceId, actor: actorOf(principal), action: 'workspace.transferred', target: workspaceId, at: now },
      details: { from: ownerId, to: newOwnerId },
    }),
  ]
  if (!(await tryCommit(commit(writes)))) {
    await authorizeInWorkspace(read, principal, id, 'owner')
    await requireOtherMember(deps, workspaceId, ownerId, body.member_id)
    throw new Refusal('conflict', 'the members have just changed: try again', { id })
  }
  for (const userId of [ownerId, newOwnerId]) await changes.memberChanged({ workspaceId, userId, removed: false })
  return json(200, { data: { id: workspaceId, owner_id: newOwnerId, former_owner_id: ownerId } })
}

/** Throws a Refusal if there is no such member, or it is the owner. */
async function requireOtherMember(
  { read }: TransferDeps,
  workspaceId: string,
  ownerId: string,
  id: string,
): Promise<Awaited<ReturnType<typeof memberById>>[number]> {
  const [member] = await memberById(read, { workspaceId, id })
  if (member === undefined) throw notFound('not-found', 'member', id)
  if (member.user_id !== ownerId) return member
  throw new Refusal('conflict', 'the workspace belongs to this member already', { id })
}
