/**
 * The room of a workspace for inbound mail: where there is much, its count is read four times a second. And the share of
 * the disk that is left for its owner.
 */
import t, { type Test } from 'tap'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../../../src/base/storage/tables/tables.js'
import { InboundBytes } from '../../../../src/workspaces/accounts/limits/inbound-bytes.js'
import type { Plan } from '../../../../src/workspaces/accounts/limits/plans.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'

interface Held {
  bytes: number
  now: number
  limit: number | null
  reads: number
}

function createRooms(limit: number | null) {
  const held: Held = { bytes: 0, now: 1_000, limit, reads: 0 }
  const read = (() => {
    held.reads += 1
    return [{ bytes: held.bytes }]
  }) as Read
  const bytes = new InboundBytes({
    read,
    clock: () => held.now,
    plans: {
      find: () => ({ name: 'any', limits: { inbound_bytes: held.limit } }) as unknown as Plan,
      findOwner: async (_read, id) => id,
    },
    operatorWorkspace: { find: async () => null },
    settings: () => ({ operator_inbound_bytes: 0, inbound_disk_percent: 100 }),
    disk: { room: () => 0 },
  })
  return { held, roomOf: (id: string) => bytes.roomOf(id), readHeld: (id: string) => bytes.readHeld(id) }
}

t.test('a workspace without a limit has room, and nothing is read', async (t) => {
  const { held, roomOf } = createRooms(null)
  t.equal(await roomOf('ws_1'), null)
  t.equal(held.reads, 0)
})

t.test('much room is read again after a quarter of a second, and when the clock goes back', async (t) => {
  const { held, roomOf, readHeld } = createRooms(2_000_000_000)
  t.equal(await roomOf('ws_1'), 2_000_000_000)
  held.bytes = 1_000
  held.now = 1_249
  t.equal(await roomOf('ws_1'), 2_000_000_000)
  t.equal(await readHeld('ws_1'), 1_000, 'what a client sees is read each time')
  t.equal(await roomOf('ws_2'), 1_999_999_000, 'each workspace has its own count')
  held.now = 1_250
  t.equal(await roomOf('ws_1'), 1_999_999_000)
  held.bytes = 2_000
  held.now = 1_000
  t.equal(await roomOf('ws_1'), 1_999_998_000)
})

t.test('little room is read each time, also after the limit was lowered', async (t) => {
  const { held, roomOf } = createRooms(400_000_000)
  t.equal(await roomOf('ws_1'), 400_000_000)
  held.bytes = 399_999_999
  t.equal(await roomOf('ws_1'), 1)
  held.bytes = 500_000_000
  t.equal(await roomOf('ws_1'), 0)
  held.limit = 5_000_000_000
  t.equal(await roomOf('ws_1'), 4_500_000_000)
  held.limit = 600_000_000
  held.bytes = 550_000_000
  t.equal(await roomOf('ws_1'), 50_000_000)
})

/** Ann owns ws_1 and ws_2 and is a member of ws_3, which Bob owns. */
async function openShares(t: Test, percent = 80) {
  const { database } = await temporaryDatabase(t)
  const build = rowOf(database.read)
  const members = [
    ['ann', 'ws_1', 'owner'],
    ['ann', 'ws_2', 'owner'],
    ['ann', 'ws_3', 'admin'],
    ['bob', 'ws_3', 'owner'],
  ] as const
  await database.commit(
    await Promise.all(
      members.map(([user_id, workspace_id, role]) =>
        build('members', { id: `${user_id}-${workspace_id}`, user_id, workspace_id, role }),
      ),
    ),
  )
  const state = { now: 0, room: 0, planLimit: undefined as number | undefined }
  const rooms = new InboundBytes({
    read: database.read,
    clock: () => state.now,
    plans: {
      find: () => ({ name: 'any', limits: { inbound_bytes: state.planLimit } }) as Plan,
      findOwner: async (_read, id) => id,
    },
    operatorWorkspace: { find: async () => null },
    settings: () => ({ operator_inbound_bytes: 1_000_000, inbound_disk_percent: percent }),
    disk: { room: () => state.room },
  })
  const hold = async (workspace_id: string, bytes: number): Promise<void> =>
    database.commit([await build('inbound_totals', { workspace_id, bytes })])
  const { roomOf, limitNow, limitOf } = {
    roomOf: (id: string) => rooms.roomOf(id),
    limitNow: (id: string) => rooms.limitNow(id),
    limitOf: (id: string) => rooms.limitOf(id),
  }
  return { state, hold, roomOf, limitNow, limitOf }
}

t.test('all workspaces of an owner share a part of the room on the disk', async (t) => {
  const { state, hold, roomOf, limitNow, limitOf } = await openShares(t)
  state.room = 100_000_000
  await hold('ws_1', 300_000_000)
  t.equal(await roomOf('ws_1'), 100_000_000, 'four times the room, less what it holds')
  t.equal(await limitNow('ws_1'), 400_000_000)
  await hold('ws_2', 60_000_000)
  t.equal(await roomOf('ws_1'), 40_000_000)
  t.same([await roomOf('ws_2'), await limitNow('ws_2')], [40_000_000, 400_000_000], 'the limit is for what both hold')
  t.equal(await roomOf('ws_3'), 400_000_000, 'another owner')
  state.room = 90_000_000
  t.same([await roomOf('ws_1'), await limitNow('ws_1')], [0, 360_000_000])
  t.equal(await roomOf('ws_3'), 360_000_000, 'has mail taken as long as there is room')
  t.equal(await roomOf(SERVICE_WORKSPACE), 1_000_000, 'the limit of reports is lower')
  t.equal(await limitOf('ws_1'), null, 'the plan has no limit')
})

t.test('the lower of plan and share holds', async (t) => {
  const { state, hold, roomOf, limitNow } = await openShares(t)
  await hold('ws_1', 1_000)
  state.room = 1_000
  state.planLimit = 2_000
  t.same([await roomOf('ws_1'), await limitNow('ws_1')], [1_000, 2_000])
  state.planLimit = 9_000
  t.same([await roomOf('ws_1'), await limitNow('ws_1')], [3_000, 4_000])
})

t.test('with much room on the disk no workspace is limited', async (t) => {
  const { state, hold, roomOf, limitNow } = await openShares(t)
  state.room = 10_000_000_000
  await hold('ws_1', 1_000)
  t.same([await roomOf('ws_1'), await limitNow('ws_1')], [null, null])
  await hold('ws_2', 40_000_000_000)
  t.equal(await roomOf('ws_1'), null, 'the count holds for a moment')
  state.now += 250
  t.equal(await roomOf('ws_1'), 0)
})

t.test('without a share the disk alone is the limit', async (t) => {
  const { hold, roomOf, limitNow } = await openShares(t, 100)
  await hold('ws_1', 1_000)
  t.same([await roomOf('ws_1'), await limitNow('ws_1')], [null, null])
})
