/** The exports of people: what was asked for, for the members of the workspace alone. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

interface ExportList {
  readonly data: readonly { readonly status: string; readonly download_url: string | null; readonly bytes: number }[]
}

t.test('the list has range, domain and size, and a link that works', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  const body = { type: 'suppressions', from_date: '2026-01-02', to_date: '2026-01-03', domain: 'b.test' }
  t.equal((await browser.ask('POST', '/v1/exports', { body })).status, 202)
  const path = '/exports'
  const list = await waitUntil('it is written', async () => {
    const answer = (await browser.ask('GET', path)).json<ExportList>()
    return answer.data[0]?.status === 'completed' && answer
  })
  t.match(list.data, [{ from: '2026-01-02T00:00:00.000Z', to: '2026-01-04T00:00:00.000Z', domain: 'b.test' }])
  const [made] = list.data
  const { pathname, search } = new URL(made?.download_url ?? '')
  const file = await app.rest('GET', `${pathname}${search}`, { key: null })
  t.equal(file.text, 'email,reason,source_email_id,created_at\r\n')
  t.equal(made?.bytes, file.text.length)
  browser.workspaceId = app.otherWorkspaceId
  t.equal((await browser.ask('GET', path)).status, 403)
  t.same(app.errors, [])
})
