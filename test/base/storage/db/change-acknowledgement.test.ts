/** Changes of other processes are put in force one after the other, and acknowledged afterwards. */

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  announceChange,
  ChangeFollower,
  readAcknowledgedChange,
} from '../../../../src/base/storage/db/change-acknowledgement.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

/** The slots of a daemon: with SQLite there is one. */
const slotsOf = ({ node }: Database): readonly number[] => (node.ownSlots.length === 0 ? [0] : node.ownSlots)

async function openFollower(t: Test, putInForce: () => Promise<void>) {
  const { database } = await temporaryDatabase(t)
  const errors: unknown[] = []
  const faults = { reads: 0 }
  const read: Read = async (...query) => {
    if (faults.reads > 0) throw new Error('the database is away')
    return database.read<never>(...query)
  }
  const log = { error: (fields: object) => void errors.push(fields) }
  const changes = new ChangeFollower({ database: { ...database, read }, log, putInForce })
  t.teardown(() => changes.stop())
  return {
    ...{ changes, errors, faults },
    announce: () => database.commit([announceChange()]),
    acknowledged: () => readAcknowledgedChange(database.read, slotsOf(database)),
  }
}

t.test('a change is acknowledged when it is in force, and one that comes meanwhile gets its own run', async (t) => {
  const seen: string[] = []
  let during = async (): Promise<void> => undefined
  const follower = await openFollower(t, async () => {
    seen.push('begun')
    await during()
    seen.push('ended')
  })
  const further: Promise<void>[] = []
  during = async () => {
    during = async () => undefined
    t.equal(await follower.acknowledged(), 0, 'not yet')
    await follower.announce()
    further.push(follower.changes.follow(), follower.changes.follow())
    await sleep(20)
  }
  await follower.announce()
  await follower.changes.follow()
  t.equal(await follower.acknowledged(), 1, 'what came meanwhile is not acknowledged with it')
  await Promise.all(further)
  t.equal(await follower.acknowledged(), 2)
  t.same(seen, ['begun', 'ended', 'begun', 'ended'], 'they do not overlap, and two calls share a run')
  t.same(follower.errors, [])
})

t.test('a change that cannot be put in force is not acknowledged, and tried again', async (t) => {
  let fails = true
  const follower = await openFollower(t, async () => {
    if (fails) throw new Error('the database is away')
  })
  await follower.announce()
  await follower.changes.follow()
  t.equal(await follower.acknowledged(), 0)
  t.equal(follower.errors.length, 1)
  fails = false
  await waitUntil('it is acknowledged', async () => (await follower.acknowledged()) === 1)
})

t.test('caches are dropped even while the number of the change cannot be read', async (t) => {
  let runs = 0
  const follower = await openFollower(t, async () => {
    runs += 1
  })
  await follower.announce()
  follower.faults.reads = 1
  await follower.changes.follow()
  t.equal(runs, 1)
  t.equal(await follower.acknowledged(), 0)
  await follower.changes.stop()
  await follower.changes.follow()
  t.equal(runs, 1, 'nothing happens after the stop')
})
