/** The thread that copies, migrates and verifies, so that the main thread can report how long it has been at it. */
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { openConnection } from '../db/connection.js'
import { type Migrations, migrate } from '../db/migrate.js'
import { StorageFault } from '../db/write.js'
import { toStorageError } from '../health/faults.js'
import { createBackup, syncFile } from '../maintenance/backup.js'
import { verifyData } from '../maintenance/verify.js'
import type { UpgradeJob, UpgradeReport, UpgradeStep } from './upgrade-protocol.js'

const report = (message: UpgradeReport): void => parentPort?.postMessage(message)

async function reportStep<T>(step: UpgradeStep, work: () => T | Promise<T>): Promise<T> {
  report({ kind: 'begins', step })
  const begun = performance.now()
  const result = await work()
  report({ kind: 'done', step, milliseconds: Math.round(performance.now() - begun) })
  return result
}

async function upgrade({ copy, source, file, verify, migrations }: UpgradeJob): Promise<void> {
  if (copy !== null) await reportStep({ act: 'copy' }, () => replaceCopy(source, copy))
  await migrateFile(file, migrations)
  if (!verify) return
  const problems = await reportStep({ act: 'verify' }, () => verifyData(file, migrations))
  report({ kind: 'problems', problems: problems.map(({ check, message }) => `${check}: ${message}`) })
}

/**
 * The copy of an earlier attempt stays complete until the new one is. The remains of an attempt that was killed are
 * removed.
 */
async function replaceCopy(source: string, copy: string): Promise<void> {
  const incoming = `${copy}.new`
  const folder = dirname(copy)
  for (const name of readdirSync(folder)) if (name.startsWith(basename(incoming))) rmSync(join(folder, name))
  await createBackup({ from: source, to: incoming })
  renameSync(incoming, copy)
  syncFile(folder)
}

async function migrateFile(file: string, migrations: Migrations): Promise<void> {
  const db = openConnection({ file })
  try {
    db.pragma('journal_mode = WAL')
    await migrate(db, migrations, (migration, milliseconds) => {
      const step = { act: 'migrate', migration } as const
      report(milliseconds === null ? { kind: 'begins', step } : { kind: 'done', step, milliseconds })
    })
    await reportStep({ act: 'write back' }, () => db.pragma('wal_checkpoint(truncate)'))
  } finally {
    db.close()
  }
}

try {
  const job: UpgradeJob = workerData
  await upgrade(job)
} catch (error) {
  const known = toStorageError(error)
  report({ kind: 'failed', code: known instanceof StorageFault ? known.code : null, message: known.message })
}
