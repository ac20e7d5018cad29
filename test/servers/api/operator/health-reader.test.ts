/** The health of the service for the operator: the nodes are those of its database, and SQLite has none. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { openTestPostgres } from '../../../helpers/database/postgres-database.js'
import { isOnPostgres } from '../../../helpers/database/test-engine.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

t.test('nodes, and the one that answers', async (t) => {
  const app = await testDaemon(t)
  await app.cli('workspace', 'set-operator', app.workspaceId)
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  const own = app.daemon.database.node.name
  if (isOnPostgres()) await openTestPostgres(t, app.config.storage.url, { node: 'zone-two' })
  const answer = await browser.ask('GET', '/operator/health')
  t.equal(answer.status, 200)
  const { answered_by: by, nodes } = answer.json<{ answered_by: string | null; nodes: readonly object[] }>()
  t.equal(by, isOnPostgres() ? own : null)
  const alive = { state: 'working', entries: 0, adopted_by: null, last_beat: /^20/, started_at: /^20/ }
  const expected = [
    { ...alive, name: own, leads: true },
    { ...alive, name: 'zone-two', leads: false },
  ]
  t.match(nodes, isOnPostgres() ? expected : [])
  t.equal(nodes.length, isOnPostgres() ? 2 : 0)
})
