/** Accepting an invitation, while the workspace, the inviter or the account changes at the same time. */
import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import { closeWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import { buildInvitationToken } from '../../../../src/workspaces/accounts/people/invitations.js'
import { buildInvitation } from '../../../../src/workspaces/accounts/people/invite.js'
import { insertMember, removeMember, setRole } from '../../../../src/workspaces/accounts/people/members.js'
import { createPasswordHasher } from '../../../../src/workspaces/accounts/people/passwords.js'
import {
  type AcceptDeps,
  AttemptLimits,
  acceptInvitation,
} from '../../../../src/workspaces/accounts/sessions/accept-invitation.js'
import { buildWorkspaceWithOwner, ownerOf } from '../../../../src/workspaces/accounts/workspace/workspaces.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const secret = createSecretKey(Buffer.alloc(32, 1))

const address = parseAddress('nina@b.test')

/** An invitation of Nina to a first workspace; `meanwhile` is committed while her password is hashed. */
async function inviteNina(t: Test): Promise<{
  readonly database: Database
  readonly workspaceId: string
  /** The invited role is admin. */
  readonly inviter: { readonly workspaceId: string; readonly id: string; readonly userId: string }
  readonly accept: (meanwhile: readonly Write[]) => Promise<unknown>
}> {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const { workspaceId, writes } = await buildWorkspaceWithOwner(
    read,
    'One',
    parseAddress('owner@a.test'),
    'unlimited',
    1,
  )
  const inviter = { workspaceId, id: 'm-admin', userId: 'admin' }
  const { id, userId } = inviter
  await commit([
    ...writes,
    insertMember({ id, workspace_id: workspaceId, user_id: userId, role: 'admin', joined_at: 1 }),
  ])
  const actor = { id: userId, keyId: null }
  const invited = await buildInvitation(read, { workspaceId, email: address, role: 'member', userId, actor, now: 2 })
  await commit(invited.writes)
  const real = createPasswordHasher()
  const accept = (meanwhile: readonly Write[]): Promise<unknown> => {
    const after = async <T>(done: Promise<T>): Promise<T> => {
      const result = await done
      await commit(meanwhile)
      return result
    }
    const slow: AcceptDeps['passwords'] = {
      hash: (password, owner) => after(real.hash(password, owner)),
      matches: (password, stored) => after(real.matches(password, stored)),
    }
    const deps: AcceptDeps = { read, commit, secret, passwords: slow, attempts: new AttemptLimits() }
    const token = buildInvitationToken(secret, invited.row.id)
    const by = {
      fullName: 'Nina',
      password: 'correct horse battery',
      code: undefined,
      remoteAddress: '192.0.2.1',
      now: 3,
    }
    return acceptInvitation(deps, { token, ...by })
  }
  return { database, workspaceId, inviter, accept }
}

t.test('no account joins a workspace that is deleted during acceptance, and nothing is stored', async (t) => {
  const { database, workspaceId, accept } = await inviteNina(t)
  await t.rejects(accept(closeWorkspace(workspaceId, 3)), { message: /no such invitation/ })
  for (const table of ['users', 'members']) t.same(await database.read(`select * from ${table}`, []), [], table)
  t.match(await database.read('select name from api_keys', []), [{}], 'only the key from before, which no member owns')
})

t.test('an account that is erased with another workspace during acceptance does not join', async (t) => {
  const { database, accept } = await inviteNina(t)
  const { read, commit } = database
  const other = await buildWorkspaceWithOwner(read, 'Other', address, 'unlimited', 1)
  const hash = await createPasswordHasher().hash('correct horse battery', { email: address, fullName: '' })
  await commit([
    ...other.writes,
    { sql: 'update users set password_hash = ? where id = ?', parameters: [hash, other.userId] },
  ])
  await t.rejects(accept(closeWorkspace(other.workspaceId, 3)), { message: /memberships have just changed/ })
  t.same(await read('select 1 from members where user_id = ?', [other.userId]), [])
  t.match(await read('select status from invitations', []), [{ status: 'pending' }], 'and may try again')
})

t.test('an acceptance that coincides with the removal of its inviter is refused', async (t) => {
  const ends: readonly ((inviter: { workspaceId: string; id: string; userId: string }) => Write[])[] = [
    (inviter) => removeMember(inviter, 3),
    (inviter) => [setRole({ ...inviter, role: 'member' })],
  ]
  for (const end of ends) {
    const { database, inviter, accept } = await inviteNina(t)
    await t.rejects(accept(end(inviter)), { kind: 'conflict', message: /was cancelled/ })
    t.same(await database.read(`select 1 from users where email = 'nina@b.test'`, []), [])
    // The acceptance waited; the inviter may no longer invite.
    const { accept: again, database: other, inviter: theirs } = await inviteNina(t)
    const waits = { sql: `update invitations set status = 'pending'`, parameters: [] }
    await t.rejects(again([...end(theirs), waits]), { kind: 'conflict', message: /have just changed|has just been/ })
    t.same(await other.read(`select 1 from users where email = 'nina@b.test'`, []), [])
  }
})

t.test('a concurrent acceptance and removal of its inviter leave one complete result', async (t) => {
  for (const first of ['accept', 'remove'] as const) {
    const { database, inviter, accept } = await inviteNina(t)
    const remove = (): Promise<void> => database.commit(removeMember(inviter, 3))
    const acts = first === 'accept' ? [accept([]), remove()] : [remove(), accept([])]
    await Promise.allSettled(acts)
    const [row] = await database.read<{ status: string }>('select status from invitations', [])
    const joined = (await database.read(`select 1 from members where id <> ? and role = 'member'`, [inviter.id])).length
    t.same([row?.status, joined], row?.status === 'accepted' ? ['accepted', 1] : ['cancelled', 0])
    t.same(await database.read('select 1 from members where id = ?', [inviter.id]), [])
  }
})

t.test('the audit log shows a new member the key that was issued', async (t) => {
  const { database, workspaceId, accept } = await inviteNina(t)
  await accept([])
  const acts = await database.read<{ action: string; details: string }>(
    'select action, details from audit_log order by seq',
    [],
  )
  t.same(
    acts.map(({ action }) => action),
    ['member.invited', 'member.joined', 'api_key.created'],
  )
  t.notMatch(JSON.stringify(acts), /ph_[\w-]{20}/)
  t.equal((await ownerOf(database.read, { workspaceId })).length, 1)
})

t.test('attempts from many addresses do not reset the attempt limit of an invitation', async (t) => {
  const { clients, invitations } = new AttemptLimits()
  for (let n = 0; n < 5; n += 1) t.ok(invitations.take('i', 1).allowed)
  for (let n = 0; n < 10_001; n += 1) clients.take(`2001:db8:${n.toString(16)}::/64`, 2)
  t.notOk(invitations.take('i', 3).allowed)
})
