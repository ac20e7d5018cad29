/** How much room, memory and files are enough, at the edge and one beyond. */
import t from 'tap'
import {
  judgeDisk,
  judgeFiles,
  judgeGroup,
  judgeInodes,
  judgeMemory,
} from '../../../../src/operations/doctor/checks/host-checks.js'
import type { FindingState, Judgement } from '../../../../src/operations/doctor/finding.js'

const MiB = 1_048_576
const GiB = 1_024 * MiB

const table: readonly (readonly [what: string, Judgement, FindingState])[] = [
  ['a tenth free', judgeDisk('/d', { free: 10 * GiB, total: 100 * GiB }), 'ok'],
  ['less than a tenth', judgeDisk('/d', { free: 10 * GiB - 1, total: 100 * GiB }), 'warn'],
  ['5 %', judgeDisk('/d', { free: 5 * GiB, total: 100 * GiB }), 'warn'],
  ['less than 5 %', judgeDisk('/d', { free: 5 * GiB - 1, total: 100 * GiB }), 'fail'],
  ['less than 1 GiB', judgeDisk('/d', { free: GiB - 1, total: 2 * GiB }), 'fail'],
  ['inodes', judgeInodes('/d', { free: 100, total: 1_000 }), 'ok'],
  ['few inodes', judgeInodes('/d', { free: 99, total: 1_000 }), 'warn'],
  ['no inodes', judgeInodes('/d', { free: 19, total: 1_000 }), 'fail'],
  ['btrfs', judgeInodes('/d', { free: 0, total: 0 }), 'ok'],
  ['memory', judgeMemory({ available: 256 * MiB, total: GiB }), 'ok'],
  ['little memory', judgeMemory({ available: 256 * MiB - 1, total: GiB }), 'warn'],
  ['no memory', judgeMemory({ available: 64 * MiB - 1, total: GiB }), 'fail'],
  ['no limit', judgeGroup({ limit: Number.POSITIVE_INFINITY, kills: 0 }), 'ok'],
  ['a limit', judgeGroup({ limit: 640 * MiB, kills: 0 }), 'ok'],
  ['a low limit', judgeGroup({ limit: 640 * MiB - 1, kills: 0 }), 'warn'],
  ['killed', judgeGroup({ limit: GiB, kills: 1 }), 'warn'],
  ['files', judgeFiles('daemon', { open: 80, limit: 3_000 }, 3_000), 'ok'],
  ['few files', judgeFiles('daemon', { open: 80, limit: 2_999 }, 3_000), 'warn'],
  ['nearly none left', judgeFiles('daemon', { open: 2_401, limit: 3_000 }, 3_000), 'fail'],
  ['any number', judgeFiles('daemon', { open: 80, limit: Number.POSITIVE_INFINITY }, 3_000), 'ok'],
]

t.test('enough, little, too little', async (t) => {
  for (const [what, found, state] of table) {
    t.equal(found.state, state, what)
    t.equal(found.remedy.length > 0, state !== 'ok', `${what}: what to do`)
  }
})
