/**
 * A process that is to be killed in the middle of an upgrade: `upgrade-child.js FILE MIGRATION` migrates until the
 * statements of this migration are done, prints its name, and waits.
 */
import { writeSync } from 'node:fs'
import { openConnection } from '../../../src/base/storage/db/connection.js'
import { migrate } from '../../../src/base/storage/db/migrate.js'
import { laterMigrations } from './later-migrations.js'

const [, , file = '', last = ''] = process.argv
const db = openConnection({ file })
db.pragma('journal_mode = WAL')
// A small cache, so that pages of the open transaction are in the log when the process is killed.
db.pragma('cache_size = 10')
await migrate(db, laterMigrations, (name, milliseconds) => {
  if (name !== last || milliseconds === null) return
  writeSync(1, `${name}\n`)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
