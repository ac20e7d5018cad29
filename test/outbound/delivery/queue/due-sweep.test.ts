import fc from 'fast-check'
import t from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { DueSweep } from '../../../../src/outbound/delivery/queue/due-sweep.js'
import { type LaneLimits, Lanes } from '../../../../src/outbound/delivery/queue/lanes.js'
import type { QueueEntry } from '../../../../src/records/messages/queue/queue.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { testNode } from '../../../helpers/database/test-engine.js'
import { ownOwners } from '../../../helpers/free-pace.js'

const roomy: LaneLimits = { total: 100, perHost: 10, perLane: 400, perWorkspace: 4000 }

const unpaced = { mayBegin: () => true, noteBulk: () => undefined, noteOther: () => undefined }

async function queueOf(database: Database, count: number, at: number): Promise<void> {
  const emails = Array.from({ length: count }, (_, n) =>
    bulkEmail({
      workspaceId: `ws_${n % 3}`,
      to: `r${n}@d${n % 7}.test`,
      at: at + (n % 5),
      priority: (['high', 'normal', 'low'] as const)[n % 3] ?? 'low',
    }),
  )
  await Promise.all(emails.map(({ writes }) => database.commit(writes)))
}

const remove = (id: string): { sql: string; parameters: string[] } => ({
  sql: 'delete from queue where id = ?',
  parameters: [id],
})

t.test('every entry is served once, however small memory is', async (t) => {
  const { database } = await temporaryDatabase(t)
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        perLane: fc.integer({ min: 1, max: 8 }),
        perWorkspace: fc.integer({ min: 1, max: 30 }),
        total: fc.integer({ min: 1, max: 10 }),
        perHost: fc.integer({ min: 1, max: 6 }),
      }),
      async (limits) => {
        await queueOf(database, 120, 1000)
        const lanes = new Lanes(() => limits, unpaced, ownOwners)
        const sweep = new DueSweep(database.read, testNode, lanes, limits.perLane)
        const served: string[] = []
        for (let idle = 0; idle < 3; ) {
          while ((await sweep.step(2000)) !== 'done');
          const turns: QueueEntry[] = []
          for (let next = lanes.take(); next !== null; next = lanes.take()) turns.push(next)
          idle = turns.length === 0 ? idle + 1 : 0
          for (const turn of turns) lanes.endAttempt(turn)
          await sweep.refillShortLanes(2000)
          await database.commit(turns.map(({ id }) => remove(id)))
          for (const turn of turns) {
            served.push(turn.id)
            lanes.forget(turn)
          }
        }
        if (served.length !== 120 || new Set(served).size !== 120) throw new Error(`${served.length} served`)
      },
    ),
    { numRuns: 25 },
  )
  t.pass('as asserted')
})

t.test('an entry is fetched when it becomes due, and a sweep keeps its position', async (t) => {
  const { database } = await temporaryDatabase(t)
  const add = async (to: string, at: number): Promise<QueueEntry> => {
    const { writes, entries } = bulkEmail({ workspaceId: 'ws_1', to, at })
    await database.commit(writes)
    return entries[0] as QueueEntry
  }
  const lanes = new Lanes(() => roomy, unpaced, ownOwners)
  let reads = 0
  const read: Database['read'] = async (sql, parameters) => {
    reads += 1
    return database.read(sql, parameters)
  }
  const sweep = new DueSweep(read, testNode, lanes, 400)
  const serve = async (now: number): Promise<string[]> => {
    await sweep.step(now)
    const recipients: string[] = []
    for (let next = lanes.take(); next !== null; next = lanes.take()) {
      recipients.push(next.recipient)
      lanes.endAttempt(next)
      lanes.forget(next)
    }
    return recipients
  }
  const early = await add('early@b.test', 1000)
  await add('late@b.test', 5000)
  t.same(await serve(2000), ['early@b.test'])
  t.same(await serve(2000), [], 'it is not looked at again')
  t.same(await serve(5000), ['late@b.test'])

  sweep.rewindTo(early)
  t.same(await serve(5000), ['early@b.test', 'late@b.test'], 'one that was missed takes the sweep back to its position')
  sweep.reset()
  t.same(await serve(5000), ['early@b.test', 'late@b.test'], 'a change from outside takes it back to the beginning')

  await add('back@b.test', 3000)
  t.same(await serve(4000), ['early@b.test', 'back@b.test'], 'so does a clock that was set back')

  await database.commit([{ sql: 'update queue set held = 1', parameters: [] }])
  sweep.reset()
  t.same(await serve(9000), [], 'what is held is not fetched')
  reads = 0
  await Promise.all(Array.from({ length: 500 }, (_, n) => add(`r${n}@b.test`, 9000)))
  t.equal(await sweep.step(9000), 'more', 'a page at a time')
  t.equal(await sweep.step(9000), 'more')
  t.equal(await sweep.step(9000), 'done', 'the third is the last')
  t.ok(reads < 12, 'and no more reads than pages need')
})

t.test('other mail of a lane is found behind many entries of a stopped broadcast', async (t) => {
  const { database } = await temporaryDatabase(t)
  const low = (count: number, at: number) =>
    Array.from({ length: count }, (_, n) =>
      bulkEmail({ workspaceId: 'ws_1', to: `r${at}-${n}@b.test`, at, priority: 'low' }),
    )
  await database.commit(low(30, 1000).flatMap(({ writes }) => writes))
  await database.commit([{ sql: `update queue set broadcast_id = 'news'`, parameters: [] }])
  await database.commit(low(20, 1500).flatMap(({ writes }) => writes))
  const lanes = new Lanes(() => ({ ...roomy, perLane: 4 }), unpaced, ownOwners)
  const sweep = new DueSweep(database.read, testNode, lanes, 4)
  lanes.stopBroadcast('news')
  const served = new Set<string>()
  for (let turn = 0; turn < 50; turn += 1) {
    while ((await sweep.step(2000)) !== 'done');
    const next = lanes.take()
    if (next === null) break
    lanes.endAttempt(next)
    await database.commit([remove(next.id)])
    served.add(next.recipient)
    lanes.forget(next)
  }
  t.equal(served.size, 20)
  t.notOk(
    [...served].some((to) => to.startsWith('r1000-')),
    'nothing of the broadcast',
  )
})
