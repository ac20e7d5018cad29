/** The thread of an export: it reports, ends when it is told to, and its fault is an error. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { DatabasePlace } from '../../../src/base/storage/db/database.js'
import { runExportThread } from '../../../src/records/exports/export-thread.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase, temporaryFolder } from '../../helpers/database/database.js'

async function prepareJob(t: Test) {
  const { database } = await temporaryDatabase(t)
  await database.commit(
    Array.from({ length: 600 }, (_, n) => bulkEmail({ workspaceId: 'ws_1', to: `bob${n}@b.test`, at: n })).flatMap(
      ({ writes }) => writes,
    ),
  )
  const range = {
    workspace_id: 'ws_1',
    type: 'email_logs',
    from_at: 0,
    to_at: 10 ** 13,
    domain: null,
    broadcast_id: null,
    outcome: null,
  } as const
  return { ...range, cursor: null, rows: 0, bytes: 0, progress: 0, database: database.place, reportInterval: 0 }
}

function unreachable(t: Test, { engine }: DatabasePlace): DatabasePlace {
  if (engine === 'sqlite') return { engine, file: join(temporaryFolder(t), 'nothing.db') }
  const storage = { url: 'postgres://nobody@127.0.0.1:1/nothing', passwordFile: '', caFile: '', schema: 'posthorn' }
  return { engine, source: { storage, environment: {} } }
}

t.test('the thread hands over pieces, and the end', async (t) => {
  const job = await prepareJob(t)
  let pieces = 0
  const onPiece = async (): Promise<boolean> => {
    pieces += 1
    return true
  }
  const { signal } = new AbortController()
  t.match(await runExportThread(job, { onPiece, signal }), { kind: 'end', progress: { rows: 600, cursor: null } })
  t.equal(pieces, 2)
})

t.test('its fault is an error', async (t) => {
  const job = await prepareJob(t)
  const { signal } = new AbortController()
  const onPiece = async (): Promise<boolean> => true
  await t.rejects(runExportThread({ ...job, database: unreachable(t, job.database) }, { onPiece, signal }), {
    code: job.database.engine === 'sqlite' ? 'SQLITE_CANTOPEN' : /./,
  })
  const failing = (): Promise<boolean> => Promise.reject(new RangeError('not stored'))
  await t.rejects(runExportThread(job, { onPiece: failing, signal }), { message: 'not stored' })
})

t.test('it ends when it is told to, and not before its piece is stored', async (t) => {
  const job = await prepareJob(t)
  const stopped = new AbortController()
  stopped.abort()
  const onPiece = async (): Promise<boolean> => true
  t.equal(await runExportThread(job, { onPiece, signal: stopped.signal }), null)
  const ended = new AbortController()
  let isStored = false
  const slow = async (): Promise<boolean> => {
    ended.abort()
    await sleep(100)
    isStored = true
    return true
  }
  t.equal(await runExportThread(job, { onPiece: slow, signal: ended.signal }), null)
  t.ok(isStored)
  const { signal } = new AbortController()
  t.equal(await runExportThread(job, { onPiece: async () => false, signal }), null)
})
