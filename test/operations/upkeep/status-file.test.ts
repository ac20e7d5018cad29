/** A running daemon describes itself in `status.json`, and removes the file when it stops. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isStatusFresh, readDaemonStatus } from '../../../src/base/platform/processes/daemon-status.js'
import { version } from '../../../src/base/platform/version.js'
import { testDaemon } from '../../helpers/daemon/test-daemon.js'
import { isOnPostgres } from '../../helpers/database/test-engine.js'

t.test('the file is there while the daemon runs', async (t) => {
  const app = await testDaemon(t)
  const folder = app.config.service.data_dir
  const status = await readDaemonStatus(folder)
  if (status === null) throw new Error('no status')
  t.match(status, { pid: process.pid, version, sessions: { submission: 0, mx: 0, api: 0 }, attempts_under_way: 0 })
  const { name } = app.daemon.database.node
  t.same(status.node, isOnPostgres() ? { name, state: 'working', leads: true } : null)
  t.ok(isStatusFresh(status, app.now()))
  t.ok(Date.parse(status.started_at) < Date.parse(status.updated_at))
  t.ok(status.rss > status.heap_used && status.heap_used > 0)
  t.ok(status.commits > 0)
  await app.stop()
  t.notOk(existsSync(join(folder, 'status.json')))
})
