/** The room of a workspace for inbound mail: where there is much, its count is read four times a second. */
import t from 'tap'
import { createInboundBytes } from '../../../src/accounts/limits/inbound-bytes.js'
import type { Plan } from '../../../src/accounts/limits/plans.js'
import type { Read } from '../../../src/storage/prepared.js'

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
  const { roomOf, readHeld } = createInboundBytes({
    read,
    clock: () => held.now,
    planOf: () => ({ name: 'any', limits: { inbound_bytes: held.limit } }) as unknown as Plan,
    operatorWorkspace: () => null,
    limits: { operator_inbound_bytes: 0 },
  })
  return { held, roomOf, readHeld }
}

t.test('a workspace without a limit has room, and nothing is read', async (t) => {
  const { held, roomOf } = createRooms(null)
  t.equal(roomOf('ws_1'), null)
  t.equal(held.reads, 0)
})

t.test('much room is read again after a quarter of a second, and when the clock goes back', async (t) => {
  const { held, roomOf, readHeld } = createRooms(2_000_000_000)
  t.equal(roomOf('ws_1'), 2_000_000_000)
  held.bytes = 1_000
  held.now = 1_249
  t.equal(roomOf('ws_1'), 2_000_000_000)
  t.equal(readHeld('ws_1'), 1_000, 'what a client sees is read each time')
  t.equal(roomOf('ws_2'), 1_999_999_000, 'each workspace has its own count')
  held.now = 1_250
  t.equal(roomOf('ws_1'), 1_999_999_000)
  held.bytes = 2_000
  held.now = 1_000
  t.equal(roomOf('ws_1'), 1_999_998_000)
})

t.test('little room is read each time, also after the limit was lowered', async (t) => {
  const { held, roomOf } = createRooms(400_000_000)
  t.equal(roomOf('ws_1'), 400_000_000)
  held.bytes = 399_999_999
  t.equal(roomOf('ws_1'), 1)
  held.bytes = 500_000_000
  t.equal(roomOf('ws_1'), 0)
  held.limit = 5_000_000_000
  t.equal(roomOf('ws_1'), 4_500_000_000)
  held.limit = 600_000_000
  held.bytes = 550_000_000
  t.equal(roomOf('ws_1'), 50_000_000)
})
