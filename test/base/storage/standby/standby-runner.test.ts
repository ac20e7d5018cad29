/** The process of the standby is started again when it was killed, and when it hangs. */
// Of SQLite alone: its log is followed.
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { StandbyRunner } from '../../../../src/base/storage/standby/standby-runner.js'
import { readStandbyStatus } from '../../../../src/base/storage/standby/standby-status.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.test('a process that was killed, and one that hangs, is started again', async (t) => {
  const { file } = await temporaryDatabase(t)
  const dataDir = dirname(file)
  const folder = join(dataDir, 'carried')
  mkdirSync(folder)
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) })
  const options = { file, dataDir, folder, interval: 100, snapshotEvery: 3_600_000, keep: 2 }
  const runner = await StandbyRunner.open(options, log, 3_000)
  t.teardown(() => runner.stop())
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    await waitUntil('it has a snapshot', () => readStandbyStatus(dataDir)?.snapshot_at != null)
    const { pid = 0 } = readStandbyStatus(dataDir) ?? {}
    process.kill(pid, signal)
    await waitUntil('another one is at work', () => readStandbyStatus(dataDir)?.pid !== pid, 30_000)
  }
  t.same(lines, [
    'the process of the standby has ended, and is started again',
    'the process of the standby hangs, and is ended',
    'the process of the standby has ended, and is started again',
  ])
})
