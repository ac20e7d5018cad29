/** Passwords, the tokens of invitations, the one owner, and the reads of people that must stay quick. */
import { createSecretKey } from 'node:crypto'
import t from 'tap'
import { invitationIdIn, invitationToken } from '../../src/accounts/invitation-token.js'
import { forgetInvitations, insertInvitation } from '../../src/accounts/invitations.js'
import { insertMember, transferOwnership } from '../../src/accounts/members.js'
import { passwords } from '../../src/accounts/passwords.js'
import { toldAfter } from '../../src/notices/told-events.js'
import { uuidv7 } from '../../src/platform/ids.js'
import type { Read } from '../../src/storage/prepared.js'
import { ConstraintViolated, Missed } from '../../src/storage/write.js'
import { temporaryDatabase } from '../helpers/database.js'

t.test('a password matches itself in any normal form, and nothing else matches', async (t) => {
  const { hash, matches } = passwords()
  const stored = await hash('Grüße aus Köln')
  t.notMatch(stored, /Köln/)
  t.not(await hash('Grüße aus Köln'), stored, 'salted')
  t.equal(await matches('Grüße aus Köln'.normalize('NFD'), stored), true)
  t.equal(await matches('grüße aus köln', stored), false)
  t.equal(await matches('', stored), false)
  t.equal(await matches('Grüße aus Köln', null), false, 'where there is none, none matches')
  await t.rejects(matches('x', 'md5$abc'), /unknown form/)
  for (const short of ['', 'elevenchars', '🦊'.repeat(11)]) {
    await t.rejects(hash(short), { name: 'Refusal', message: /at least 12/ }, short)
  }
})

t.test('of many guesses at once a few are worked on, some wait, and the rest are sent away', async (t) => {
  const { hash, matches } = passwords()
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
  const token = invitationToken(secret, id)
  t.equal(invitationIdIn(secret, token), id)
  t.equal(invitationIdIn(createSecretKey(Buffer.alloc(32, 2)), token), null)
  t.equal(invitationIdIn(secret, token.replace(id, uuidv7(2))), null)
  for (const other of ['', id, `${token}=`, ` ${token}`, `${token}\n`, token.toUpperCase(), token.slice(1)]) {
    t.equal(invitationIdIn(secret, other), null, JSON.stringify(other))
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
  await t.rejects(commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'b', newOwnerId: 'a' })), Missed)
  await t.rejects(commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'a', newOwnerId: 'x' })), Missed)
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
      email: `${n}@b.test`,
      role: 'member',
      status: 'pending',
      invited_by_name: '',
      invited_by_email: '',
      created_at: 0,
      expires_at,
    })
  await database.commit([...Array.from({ length: 201 }, (_, n) => row(n, DAY)), row(900, 2 * DAY)])
  const now = 31 * DAY + 1
  t.same([await forgetInvitations(database, now), await forgetInvitations(database, now)], [true, true])
  t.equal(await forgetInvitations(database, now), false)
  t.same(database.read('select id from invitations', []), [{ id: 'i900' }])
})

t.test('what people must be told is found without looking at other events', async (t) => {
  const { database } = await temporaryDatabase(t)
  let sql = ''
  const listening: Read = (text) => {
    sql = text
    return []
  }
  toldAfter(listening, { seq: 1, limit: 10 })
  const plan = database.read<{ detail: string }>(`explain query plan ${sql}`, [1, 10])
  t.same(
    plan.map(({ detail }) => detail),
    ['SEARCH events USING INDEX events_told (seq>?)'],
  )
})
