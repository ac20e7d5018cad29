import { getHeapSpaceStatistics } from 'node:v8'
import t from 'tap'
import { noteReceivedBytes } from '../../../../src/base/platform/memory/received-bytes.js'

const megabyte = 1_048_576

/** Bytes in V8's young generation. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_used_size ?? 0
}

/** Bytes in it that nobody uses. */
function leaveGarbage(bytes: number): number {
  const kept: unknown[] = []
  for (const until = youngBytes() + bytes; youngBytes() < until; ) kept.push(Array.from({ length: 1_000 }, String))
  return youngBytes()
}

t.test('young garbage is collected after each four megabytes that were received', async (t) => {
  noteReceivedBytes(4 * megabyte)
  for (let round = 0; round < 3; round += 1) {
    const full = leaveGarbage(500_000)
    noteReceivedBytes(3 * megabyte)
    const later = youngBytes()
    t.ok(later >= full, 'not yet')
    noteReceivedBytes(megabyte)
    t.ok(youngBytes() < later - 100_000, `${full}, ${later}, then ${youngBytes()}`)
  }
})
