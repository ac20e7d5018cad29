/** What Linux says of this machine and this process; of a process that is gone it says nothing. */
import { tmpdir } from 'node:os'
import t from 'tap'
import {
  listOwnAddresses,
  readGroupMemory,
  readInodes,
  readMachineMemory,
  readOpenFiles,
} from '../../../../src/base/platform/processes/host-facts.js'

t.test('this machine and this process', async (t) => {
  t.ok(listOwnAddresses().includes('127.0.0.1'))
  const inodes = await readInodes(tmpdir())
  t.ok(inodes.free <= inodes.total)
  const memory = await readMachineMemory()
  t.ok(memory !== null && memory.available > 0 && memory.available < memory.total)
  const files = await readOpenFiles(process.pid)
  t.ok(files !== null && files.open > 2 && files.limit >= files.open)
  const group = await readGroupMemory(process.pid)
  t.ok(group === null || (group.limit > 0 && group.kills >= 0), 'a container may have no group')
})

t.test('a process that is gone', async (t) => {
  t.equal(await readOpenFiles(2 ** 30), null)
  t.equal(await readGroupMemory(2 ** 30), null)
})
