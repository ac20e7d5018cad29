/** When spool files are swept. */
// Of SQLite alone: bytes of messages are in files.
import t from 'tap'
import type { Write } from '../../../src/base/storage/db/write.js'
import { hasMuchDeleted } from '../../../src/base/storage/spool/spool-use.js'
import { startSweeps } from '../../../src/operations/upkeep/spool-sweeps.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { holesOf } from '../../helpers/database/spooled.js'
import { waitUntil } from '../../helpers/wait-until.js'

const hole = (file: number, bytes: number): Write => ({
  sql: 'insert into spool_holes (file, at, bytes) values (?, 0, ?)',
  parameters: [file, bytes],
})

t.test('deleted bytes are swept at the start, and as soon as they are many', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  await commit([hole(1, 1)])
  const failures: unknown[] = []
  const sweeps = startSweeps(database, { error: (...failure: unknown[]) => failures.push(failure) }, 5)
  t.teardown(sweeps.stop)
  await waitUntil('the sweep', async () => (await holesOf(read)).length === 0)
  await commit([hole(1, 67_108_863)])
  t.notOk(await hasMuchDeleted(read))
  await commit([hole(2, 1)])
  await waitUntil('the sweep', async () => !(await hasMuchDeleted(read)))
  await sweeps.stop()
  t.same(failures, [])
})
