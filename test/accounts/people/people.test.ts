/** Passwords, the tokens of invitations, the one owner, and the reads of people that must stay quick. */
import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  type AcceptDeps,
  acceptInvitation,
  createAttemptLimits,
} from '../../../src/accounts/people/accept-invitation.js'
import { buildInvitationToken, parseInvitationToken } from '../../../src/accounts/people/invitation-token.js'
import { insertInvitation, removeOldInvitations } from '../../../src/accounts/people/invitations.js'
import { buildInvitation } from '../../../src/accounts/people/invite.js'
import { insertMember, removeMember, setRole, transferOwnership } from '../../../src/accounts/people/members.js'
import { createPasswordHasher } from '../../../src/accounts/people/passwords.js'
import { buildWorkspaceWithOwner, ownerOf } from '../../../src/accounts/workspaces.js'
import { parseAddress } from '../../../src/mail/address.js'
import { noticeEventsAfter } from '../../../src/notices/notice-events.js'
import { uuidv7 } from '../../../src/platform/ids.js'
import type { Database } from '../../../src/storage/database.js'
import { closeWorkspace } from '../../../src/storage/maintenance/erase.js'
import type { Read } from '../../../src/storage/prepared.js'
import { ConstraintViolated, type Write, WriteConflict } from '../../../src/storage/writer/write.js'
import { temporaryDatabase } from '../../helpers/database.js'

t.test('a password matches itself in any normal form, and nothing else matches', async (t) => {
  const { hash, matches } = createPasswordHasher()
  const stored = await hash('Grüße aus Köln')
  t.notMatch(stored, /Köln/)
  t.not(await hash('Grüße aus Köln'), stored, 'salted')
  t.equal(await matches('Grüße aus Köln'.normalize('NFD'), stored), true)
  t.equal(await matches('grüße aus köln', stored), false)
  t.equal(await matches('', stored), false)
  t.equal(await matches('Grüße aus Köln', null), false, 'where there is none, none matches')
  await t.rejects(matches('x', 'md5$abc'), /unknown form/)
  for (const short of ['', '7 chars', '🦊'.repeat(7)]) {
    await t.rejects(hash(short), { name: 'Refusal', message: /at least 8/ }, short)
  }
})

t.test('of many guesses at once a few are worked on, some wait, and the rest are sent away', async (t) => {
  const { hash, matches } = createPasswordHasher()
  const stored = await hash('correct horse battery')
  const guesses = Array.from({ length: 30 }, () =>
    matches('wrong', stored).catch((error: { kind: string }) => error.kind),
  )
  const outcomes = await Promise.all(guesses)
  const sentAway = outcomes.filter((outcome) => outcome === 'unavailable').length
  t.ok(sentAway >= 8, 'as many as there is no room for, and more where the machine is slow')
  t.ok(sentAway <= 28)
  t.equal(outcomes.filter((outcome) => outcome === false).length, 30 - sentAway)
  t.equal(await matches('correct horse battery', stored), true, 'and then there is room again')
})

t.test('a token is good for its invitation, its secret and its very letters', async (t) => {
  const secret = createSecretKey(Buffer.alloc(32, 1))
  const id = uuidv7(1)
  const token = buildInvitationToken(secret, id)
  t.equal(parseInvitationToken(secret, token), id)
  t.equal(parseInvitationToken(createSecretKey(Buffer.alloc(32, 2)), token), null)
  t.equal(parseInvitationToken(secret, token.replace(id, uuidv7(2))), null)
  for (const other of ['', id, `${token}=`, ` ${token}`, `${token}\n`, token.toUpperCase(), token.slice(1)]) {
    t.equal(parseInvitationToken(secret, other), null, JSON.stringify(other))
  }
})

t.test('a transfer makes one owner of another, or changes nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const member = (user_id: string, role: 'owner' | 'member') =>
    insertMember({ id: `m-${user_id}`, workspace_id: 'ws_1', user_id, role, joined_at: 1 })
  await commit([member('a', 'owner'), member('b', 'member')])
  await t.rejects(commit([member('c', 'owner')]), ConstraintViolated, 'never two')
  const roles = (): unknown => read('select user_id, role from members order by user_id', [])
  await t.rejects(commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'b', newOwnerId: 'a' })), WriteConflict)
  await t.rejects(commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'a', newOwnerId: 'x' })), WriteConflict)
  t.same(roles(), [
    { user_id: 'a', role: 'owner' },
    { user_id: 'b', role: 'member' },
  ])
  await commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'a', newOwnerId: 'b' }))
  t.same(roles(), [
    { user_id: 'a', role: 'admin' },
    { user_id: 'b', role: 'owner' },
  ])
})

t.test('invitations are forgotten a month after their end, in small steps', async (t) => {
  const { database } = await temporaryDatabase(t)
  const DAY = 86_400_000
  const row = (n: number, expires_at: number) =>
    insertInvitation({
      id: `i${n}`,
      workspace_id: 'ws_1',
      email: parseAddress(`${n}@b.test`),
      role: 'member',
      status: 'pending',
      invited_by_name: '',
      invited_by_email: '',
      invited_by: '',
      created_at: 0,
      expires_at,
    })
  await database.commit([...Array.from({ length: 201 }, (_, n) => row(n, DAY)), row(900, 2 * DAY)])
  const now = 31 * DAY + 1
  t.same([await removeOldInvitations(database, now), await removeOldInvitations(database, now)], [true, true])
  t.equal(await removeOldInvitations(database, now), false)
  t.same(database.read('select id from invitations', []), [{ id: 'i900' }])
})

t.test('what people must be told is found without looking at other events', async (t) => {
  const { database } = await temporaryDatabase(t)
  let sql = ''
  const listening: Read = (text) => {
    sql = text
    return []
  }
  noticeEventsAfter(listening, { seq: 1, limit: 10 })
  const plan = database.read<{ detail: string }>(`explain query plan ${sql}`, [1, 10])
  t.same(
    plan.map(({ detail }) => detail),
    ['SEARCH events USING INDEX events_told (seq>?)'],
  )
})

const secret = createSecretKey(Buffer.alloc(32, 1))
const address = parseAddress('nina@b.test')

/** An invitation of Nina's to a first workspace; `meanwhile` is committed while her password is worked on. */
async function inviteNina(t: Test): Promise<{
  readonly database: Database
  readonly workspaceId: string
  /** An admin. */
  readonly inviter: { readonly workspaceId: string; readonly id: string; readonly userId: string }
  readonly accept: (meanwhile: readonly Write[]) => Promise<unknown>
}> {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const { workspaceId, writes } = buildWorkspaceWithOwner(read, 'One', parseAddress('owner@a.test'), 'unlimited', 1)
  const inviter = { workspaceId, id: 'm-admin', userId: 'admin' }
  const { id, userId } = inviter
  await commit([
    ...writes,
    insertMember({ id, workspace_id: workspaceId, user_id: userId, role: 'admin', joined_at: 1 }),
  ])
  const actor = { id: userId, keyId: null }
  const invited = buildInvitation(read, { workspaceId, email: address, role: 'member', userId, actor, now: 2 })
  await commit(invited.writes)
  const real = createPasswordHasher()
  const accept = (meanwhile: readonly Write[]): Promise<unknown> => {
    const after = async <T>(done: Promise<T>): Promise<T> => {
      const result = await done
      await commit(meanwhile)
      return result
    }
    const slow: AcceptDeps['passwords'] = {
      hash: (password) => after(real.hash(password)),
      matches: (password, stored) => after(real.matches(password, stored)),
    }
    const deps: AcceptDeps = { read, commit, secret, passwords: slow, attempts: createAttemptLimits() }
    const token = buildInvitationToken(secret, invited.row.id)
    const by = { fullName: 'Nina', password: 'correct horse battery', remoteAddress: '192.0.2.1', now: 3 }
    return acceptInvitation(deps, { token, ...by })
  }
  return { database, workspaceId, inviter, accept }
}

t.test('nobody joins a workspace that ends while they accept, and nothing of them is kept', async (t) => {
  const { database, workspaceId, accept } = await inviteNina(t)
  await t.rejects(accept(closeWorkspace(workspaceId, 3)), { message: /no such invitation/ })
  for (const table of ['users', 'members']) t.same(database.read(`select * from ${table}`, []), [], table)
  t.match(database.read('select name from api_keys', []), [{}], "the one of before, which is nobody's")
})

t.test('somebody who is forgotten with another workspace while they accept does not join as nobody', async (t) => {
  const { database, accept } = await inviteNina(t)
  const { read, commit } = database
  const other = buildWorkspaceWithOwner(read, 'Other', address, 'unlimited', 1)
  const hash = await createPasswordHasher().hash('correct horse battery')
  await commit([
    ...other.writes,
    { sql: 'update users set password_hash = ? where id = ?', parameters: [hash, other.userId] },
  ])
  await t.rejects(accept(closeWorkspace(other.workspaceId, 3)), { message: /memberships changed/ })
  t.same(read('select 1 from members where user_id = ?', [other.userId]), [])
  t.match(read('select status from invitations', []), [{ status: 'pending' }], 'and may try again')
})

t.test('an acceptance that meets the end of its inviter lets nobody in', async (t) => {
  const ends: readonly ((inviter: { workspaceId: string; id: string; userId: string }) => Write[])[] = [
    (inviter) => removeMember(inviter, 3),
    (inviter) => [setRole({ ...inviter, role: 'member' })],
  ]
  for (const end of ends) {
    const { database, inviter, accept } = await inviteNina(t)
    await t.rejects(accept(end(inviter)), { kind: 'conflict', message: /was cancelled/ })
    t.same(database.read(`select 1 from users where email = 'nina@b.test'`, []), [])
    // Though it waited, whoever may not invite lets nobody in.
    const { accept: again, database: other, inviter: theirs } = await inviteNina(t)
    const waits = { sql: `update invitations set status = 'pending'`, parameters: [] }
    await t.rejects(again([...end(theirs), waits]), { kind: 'conflict', message: /at this moment/ })
    t.same(other.read(`select 1 from users where email = 'nina@b.test'`, []), [])
  }
})

t.test('of an acceptance and the removal of its inviter at once either is whole', async (t) => {
  for (const first of ['accept', 'remove'] as const) {
    const { database, inviter, accept } = await inviteNina(t)
    const remove = (): Promise<void> => database.commit(removeMember(inviter, 3))
    const acts = first === 'accept' ? [accept([]), remove()] : [remove(), accept([])]
    await Promise.allSettled(acts)
    const [row] = database.read<{ status: string }>('select status from invitations', [])
    const joined = database.read(`select 1 from members where id <> ? and role = 'member'`, [inviter.id]).length
    t.same([row?.status, joined], row?.status === 'accepted' ? ['accepted', 1] : ['cancelled', 0])
    t.same(database.read('select 1 from members where id = ?', [inviter.id]), [])
  }
})

t.test('who joins finds the key that they got in the audit log', async (t) => {
  const { database, workspaceId, accept } = await inviteNina(t)
  await accept([])
  const acts = database.read<{ action: string; details: string }>(
    'select action, details from audit_log order by seq',
    [],
  )
  t.same(
    acts.map(({ action }) => action),
    ['member.invited', 'member.joined', 'api_key.created'],
  )
  t.notMatch(JSON.stringify(acts), /ph_[\w-]{20}/)
  t.equal(ownerOf(database.read, { workspaceId }).length, 1)
})

t.test('a transfer, another role and a removal at once leave one owner', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const member = (user_id: string, role: 'owner' | 'admin') =>
    insertMember({ id: `m-${user_id}`, workspace_id: 'ws_1', user_id, role, joined_at: 1 })
  await commit([member('a', 'owner'), member('b', 'admin'), member('c', 'admin')])
  const of = (ownerId: string, newOwnerId: string) => transferOwnership({ workspaceId: 'ws_1', ownerId, newOwnerId })
  const remove = (userId: string) => removeMember({ workspaceId: 'ws_1', id: `m-${userId}`, userId }, 2)
  const demote = (userId: string) => [setRole({ workspaceId: 'ws_1', id: `m-${userId}`, role: 'member' })]
  const acts = [of('a', 'b'), of('a', 'c'), remove('b'), demote('b'), remove('a'), demote('a'), of('b', 'a')]
  for (let shift = 0; shift < acts.length; shift += 1) {
    await Promise.allSettled([...acts.slice(shift), ...acts.slice(0, shift)].map(commit))
    t.equal(read(`select 1 from members where role = 'owner'`, []).length, 1)
  }
})

t.test('a crowd of addresses makes nobody forget how often an invitation was tried', async (t) => {
  const { clients, invitations } = createAttemptLimits()
  for (let n = 0; n < 5; n += 1) t.ok(invitations.take('i', 1).allowed)
  for (let n = 0; n < 10_001; n += 1) clients.take(`2001:db8:${n.toString(16)}::/64`, 2)
  t.notOk(invitations.take('i', 3).allowed)
})
