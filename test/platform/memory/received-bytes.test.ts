import t from 'tap'
import { noteReceivedBytes } from '../../../src/platform/memory/received-bytes.js'
import { waitUntil } from '../../helpers/wait-until.js'

const megabyte = 1_048_576

/** Bytes outside of the heap that young objects own, and nobody uses. */
function leaveGarbage(megabytes: number): void {
  for (let count = 0; count < megabytes; count += 1) Buffer.alloc(megabyte, 1)
}

t.test('memory of what was received is free after a few megabytes', async (t) => {
  const before = process.memoryUsage().arrayBuffers
  for (let round = 0; round < 3; round += 1) {
    leaveGarbage(3)
    const left = process.memoryUsage().arrayBuffers
    t.ok(left >= before + 2 * megabyte, 'nothing collects it by itself')
    noteReceivedBytes(3 * megabyte)
    noteReceivedBytes(megabyte)
    // V8 gives it back on a thread of its own.
    await waitUntil('it is free', () => process.memoryUsage().arrayBuffers < before + megabyte)
  }
})
