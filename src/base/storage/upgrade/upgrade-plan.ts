/**
 * Plans the upgrade of a database, which it reads without changing it: its migrations, and the room that a copy needs.
 */
import { existsSync } from 'node:fs'
import { openConnection } from '../db/connection.js'
import {
  listAppliedMigrations,
  listPendingMigrations,
  type Migrations,
  refuseUnknownMigrations,
} from '../db/migrate.js'
import { migrations as ours } from '../db/migrations.js'
import { toStorageError } from '../health/faults.js'
import { countSpooledBytes } from '../spool/fold.js'
import { describeWayBack } from './upgrade-copies.js'

export interface UpgradePlan {
  /** The newest migration that the database has. */
  readonly from: string
  /** Empty if the database is of this version. */
  readonly pending: readonly string[]
  /** Bytes of a copy. */
  readonly bytes: number
  /** Bytes that a copy and its migration need at most: the log and new pages may each be as large as the copy. */
  readonly room: number
}

const ROOM_FACTOR = 3

/**
 * Null if there is no database, or an empty one. Throws `NewerDatabase`, `DevelopmentDatabase`, or a `StorageFault`.
 */
export function planUpgrade(file: string, migrations: Migrations = ours): UpgradePlan | null {
  if (!existsSync(file)) return null
  try {
    return readPlan(file, migrations)
  } catch (error) {
    throw toStorageError(error)
  }
}

function readPlan(file: string, migrations: Migrations): UpgradePlan | null {
  const db = openConnection({ file })
  try {
    refuseUnknownMigrations(db, migrations, { remedy: () => describeWayBack(file, migrations) })
    const from = listAppliedMigrations(db).at(-1)
    if (from === undefined) return null
    const read = (name: string): number => Number(db.pragma(name, { simple: true }))
    const pages = read('page_count') - read('freelist_count')
    const bytes = pages * read('page_size') + countSpooledBytes(db)
    return { from, pending: listPendingMigrations(db, migrations), bytes, room: bytes * ROOM_FACTOR }
  } finally {
    db.close()
  }
}
