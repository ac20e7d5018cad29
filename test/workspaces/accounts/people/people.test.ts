/** Passwords, invitation tokens, transfer of ownership, retention of invitations. */

import { createSecretKey } from 'node:crypto'
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { uuidv7 } from '../../../../src/base/platform/ids.js'
import { ConstraintViolated, WriteConflict } from '../../../../src/base/storage/db/write.js'
import {
  buildInvitationToken,
  insertInvitation,
  parseInvitationToken,
  removeOldInvitations,
} from '../../../../src/workspaces/accounts/people/invitations.js'
import {
  insertMember,
  removeMember,
  setRole,
  transferOwnership,
} from '../../../../src/workspaces/accounts/people/members.js'
import { createPasswordHasher } from '../../../../src/workspaces/accounts/people/passwords.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const owner = { email: 'nina@b.test', fullName: 'Nina Neu' }

t.test('a password matches itself in any Unicode normal form, and nothing else matches', async (t) => {
  const { hash, matches } = createPasswordHasher()
  const stored = await hash('Grüße aus Köln', owner)
  t.notMatch(stored, /Köln/)
  t.not(await hash('Grüße aus Köln', owner), stored, 'salted')
  t.equal(await matches('Grüße aus Köln'.normalize('NFD'), stored), true)
  t.equal(await matches('grüße aus köln', stored), false)
  t.equal(await matches('', stored), false)
  t.equal(await matches('Grüße aus Köln', null), false, 'where there is none, none matches')
  await t.rejects(matches('x', 'md5$abc'), /unknown form/)
  for (const short of ['', '7 chars', '🦊'.repeat(11)]) {
    await t.rejects(hash(short, owner), { name: 'Refusal', message: /at least 12/ }, short)
  }
})

t.test('with many concurrent guesses, a few are hashed, some wait, and the rest are refused', async (t) => {
  const { hash, matches } = createPasswordHasher()
  const stored = await hash('correct horse battery', owner)
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

t.test('a token is valid for its own invitation and secret only', async (t) => {
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

t.test('a transfer moves ownership completely or changes nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const member = (user_id: string, role: 'owner' | 'member') =>
    insertMember({ id: `m-${user_id}`, workspace_id: 'ws_1', user_id, role, joined_at: 1 })
  await commit([member('a', 'owner'), member('b', 'member')])
  await t.rejects(commit([member('c', 'owner')]), ConstraintViolated, 'never two')
  const roles = async (): Promise<unknown> => read('select user_id, role from members order by user_id', [])
  await t.rejects(commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'b', newOwnerId: 'a' })), WriteConflict)
  await t.rejects(commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'a', newOwnerId: 'x' })), WriteConflict)
  t.same(await roles(), [
    { user_id: 'a', role: 'owner' },
    { user_id: 'b', role: 'member' },
  ])
  await commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'a', newOwnerId: 'b' }))
  t.same(await roles(), [
    { user_id: 'a', role: 'admin' },
    { user_id: 'b', role: 'owner' },
  ])
})

t.test('invitations are removed a month after they end, in small steps', async (t) => {
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
  t.same(await database.read('select id from invitations', []), [{ id: 'i900' }])
})

t.test('a concurrent transfer, role change and removal leave one owner', async (t) => {
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
    await Promise.allSettled([...acts.slice(shift), ...acts.slice(0, shift)].map((writes) => commit(writes)))
    t.equal((await read(`select 1 from members where role = 'owner'`, [])).length, 1)
  }
})
