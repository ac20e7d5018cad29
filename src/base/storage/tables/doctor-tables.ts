/** The table of the daily checks. Part of `tables.ts`, which says what holds for all tables. */
import type { Flag, Json, Timestamp } from './columns.js'

/** A fault that a daily check found. The row is removed when it is right again. */
export interface DoctorFindingsTable {
  /** `SERVICE_WORKSPACE`. */
  workspace_id: string
  check_name: string
  subject: string
  state: 'warn' | 'fail'
  text: string
  remedy: Json<readonly string[]>
  /** When it was found first. */
  failed_at: Timestamp
  checked_at: Timestamp
  /** A notice has named it. */
  noticed: Flag
}
