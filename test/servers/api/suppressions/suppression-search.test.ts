/** The search of the suppression list by a session: in the workspaces of the user, in pages, with exact errors. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

interface FoundPage {
  readonly data: readonly { readonly email: string }[]
  readonly next_cursor: string | null
}

t.test('a member searches the list of the own workspace, and of no other', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const browser = openBrowser(app)
  const search = (query: string): ReturnType<typeof browser.ask> => browser.ask('GET', `/suppressions?${query}`)
  t.equal((await search('email=b')).status, 401, 'without a session')
  await browser.signIn('owner@a.test')
  for (const email of ['carl@b.test', 'bob@b.test', 'bea@b.test']) {
    await app.rest('POST', '/v1/suppressions', { body: { email } })
  }
  await app.rest('POST', '/v1/suppressions', { key: app.otherKey, body: { email: 'bill@b.test' } })

  const first = (await search('email=B&limit=1')).json<FoundPage>()
  t.match(first, { data: [{ email: 'bea@b.test', reason: 'manual', source_email_id: null }], next_cursor: String })
  const second = (await search(`email=B&limit=1&cursor=${first.next_cursor}`)).json<FoundPage>()
  t.match(second, { data: [{ email: 'bob@b.test' }], next_cursor: null })
  t.same((await search('email=b&reason=unsubscribe')).json<FoundPage>(), { data: [], next_cursor: null })

  t.equal((await search('')).json<FoundPage>().data.length, 3, 'without a beginning it lists all')

  const refusals = [
    ['email=', 400, 'email'],
    [`email=${'a'.repeat(255)}`, 400, 'email'],
    ['email=b&reason=other', 400, 'reason'],
    ['email=b&limit=0', 400, 'limit'],
  ] as const
  for (const [query, status, field] of refusals) {
    const answer = await search(query)
    t.equal(answer.status, status, query)
    t.match(answer.text, new RegExp(`\\b${field}\\b`), query)
  }
  for (const other of [app.otherWorkspaceId, 'ws_none']) {
    browser.workspaceId = other
    t.equal((await search('email=b')).status, 403, other)
  }
})
