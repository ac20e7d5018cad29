/** How many sessions a user may have, and the removal of sessions and links past their time. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { insertUser } from '../../../../src/workspaces/accounts/people/users.js'
import {
  buildPasswordLink,
  removeOldPasswordLinks,
} from '../../../../src/workspaces/accounts/sessions/password-links.js'
import {
  buildSession,
  hashToken,
  insertSession,
  removeOldSessions,
} from '../../../../src/workspaces/accounts/sessions/session-records.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const NOW = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000
const LIFETIME = 168 * HOUR

const user = (id: string): ReturnType<typeof insertUser> =>
  insertUser({ id, email: parseAddress(`${id}@b.test`), full_name: '', password_hash: null, created_at: NOW })

t.test('the fifty-first session of a user ends the oldest, and none of another user', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit([user('ann'), user('bob')])
  const sessionAt = (userId: string, now: number): ReturnType<typeof buildSession> =>
    buildSession({
      userId,
      userAgent: `a\u0000b${'x'.repeat(300)}`,
      remoteAddress: '192.0.2.1',
      lifetime: LIFETIME,
      now,
    })
  await commit(insertSession(sessionAt('bob', NOW - 1).row))
  const made = Array.from({ length: 52 }, (_, number) => sessionAt('ann', NOW + number))
  for (const { row } of made) await commit(insertSession(row))
  const kept = await read<{ token_hash: string; user_agent: string }>(
    'select token_hash, user_agent from sessions where user_id = ? order by created_at',
    ['ann'],
  )
  t.same(
    kept.map(({ token_hash }) => token_hash),
    made.slice(2).map(({ token }) => hashToken(token)),
  )
  t.equal(kept[0]?.user_agent, `a b${'x'.repeat(197)}`)
  t.equal((await read('select 1 from sessions where user_id = ?', ['bob'])).length, 1)
})

t.test('sessions and links are removed past their time', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit([user('ann')])
  for (const now of [NOW, NOW + HOUR]) {
    const { row } = buildSession({ userId: 'ann', userAgent: '', remoteAddress: '', lifetime: LIFETIME, now })
    const link = buildPasswordLink({ userId: 'ann', purpose: 'reset', publicUrl: 'https://mail.test', now })
    await commit([...insertSession(row), link.write])
  }
  const count = async (table: string): Promise<number> => (await read(`select 1 from ${table}`, [])).length
  t.equal(await removeOldSessions(database, NOW + LIFETIME - 1), false)
  t.equal(await removeOldPasswordLinks(database, NOW + HOUR - 1), false)
  t.same([await count('sessions'), await count('password_links')], [2, 2])
  t.equal(await removeOldSessions(database, NOW + LIFETIME), true)
  t.equal(await removeOldPasswordLinks(database, NOW + HOUR), true)
  t.same([await count('sessions'), await count('password_links')], [1, 1])
})
