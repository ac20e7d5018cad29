/** Browsers are known by their token, for a year, twenty of a user, until the password changes. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { insertUser } from '../../../../src/workspaces/accounts/people/users.js'
import {
  BROWSER_LIFETIME,
  forgetBrowsers,
  recognizeBrowser,
  rememberBrowser,
  removeOldBrowsers,
} from '../../../../src/workspaces/accounts/sessions/known-browsers.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const NOW = Date.UTC(2026, 0, 1)

t.test('a browser is known to its user alone, and for a year', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const recognize = (userId: string, token: string | null, now = NOW): Promise<string> =>
    recognizeBrowser(read, { userId, token, now })
  t.equal(await recognize('ann', 'a'), 'first')
  await commit(rememberBrowser('ann', 'a', NOW))
  t.same(
    [await recognize('ann', 'a'), await recognize('ann', 'b'), await recognize('ann', null)],
    ['known', 'new', 'new'],
  )
  t.equal(await recognize('bob', 'a'), 'first')
  t.equal(await recognize('ann', 'a', NOW + BROWSER_LIFETIME - 1), 'known')
  t.equal(await recognize('ann', 'a', NOW + BROWSER_LIFETIME), 'first')
  await commit(rememberBrowser('ann', 'a', NOW + 1))
  t.equal(await removeOldBrowsers(database, NOW + BROWSER_LIFETIME), false, 'it was used again')
  t.equal(await removeOldBrowsers(database, NOW + 1 + BROWSER_LIFETIME), true)
  t.equal(await recognize('ann', 'a'), 'first')
})

t.test('of more than twenty, the one that was used least recently is forgotten', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  for (let n = 0; n < 20; n += 1) await commit(rememberBrowser('ann', `token ${n}`, NOW + n))
  await commit([...rememberBrowser('ann', 'token 0', NOW + 30), ...rememberBrowser('bob', 'token 1', NOW)])
  await commit(rememberBrowser('ann', 'token 20', NOW + 31))
  const known = await Promise.all(
    ['token 0', 'token 1', 'token 2', 'token 20'].map((token) =>
      recognizeBrowser(read, { userId: 'ann', token, now: NOW + 40 }),
    ),
  )
  t.same(known, ['known', 'new', 'known', 'known'])
  await commit([forgetBrowsers('ann', 'token 2')])
  t.equal(await recognizeBrowser(read, { userId: 'ann', token: 'token 20', now: NOW + 40 }), 'new')
  t.equal(await recognizeBrowser(read, { userId: 'ann', token: 'token 2', now: NOW + 40 }), 'known')
  await commit([forgetBrowsers('ann', null)])
  t.equal(await recognizeBrowser(read, { userId: 'ann', token: 'token 2', now: NOW + 40 }), 'first')
  t.equal(await recognizeBrowser(read, { userId: 'bob', token: 'token 1', now: NOW + 40 }), 'known')
})

t.test('the browsers of a user end with the user', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const email = parseAddress('ann@b.test')
  await commit([insertUser({ id: 'ann', email, full_name: '', password_hash: null, created_at: NOW })])
  await commit(rememberBrowser('ann', 'a', NOW))
  await commit([{ sql: 'delete from users where id = ?', parameters: ['ann'] }])
  t.equal(await recognizeBrowser(read, { userId: 'ann', token: 'a', now: NOW }), 'first')
})
