/**
 * Reads and changes codes that a user checks. Each change asserts the state and the attempts that it was decided
 * from.
 */
import { sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { CodeRef, CodeRow } from './sms-records.js'

interface PhoneRef {
  readonly workspaceId: string
  readonly phone: string
}

const pendingCode = prepareRead<PhoneRef>()(({ db, slot }) =>
  db
    .selectFrom('sms_codes')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('phone', '=', slot('phone'))
    .where('status', '=', sql.lit('pending' as const)),
)

/** SQLite uses the partial index only for literals. */
const latestCode = prepareRead<PhoneRef>()(({ db, slot }) =>
  db
    .selectFrom('sms_codes')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('phone', '=', slot('phone'))
    .where(sql<boolean>`status in ('pending', 'verified', 'expired', 'max_attempts')`)
    .orderBy('sent_at', 'desc')
    .limit(1),
)

/**
 * Finds the code that decides a check: the pending one, or the last that was pending. A replaced or void code
 * decides nothing.
 */
export async function findCodeToCheck(read: Read, phone: PhoneRef): Promise<CodeRow | undefined> {
  return (await pendingCode(read, phone))[0] ?? (await latestCode(read, phone))[0]
}

type ReadCode = CodeRef & Pick<CodeRow, 'attempts'>

export const countWrongCode = prepareWrite<ReadCode>(
  ({ db, slot }) =>
    db
      .updateTable('sms_codes')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'pending')
      .where('attempts', '=', slot('attempts')),
  1,
)

export const endCode = prepareWrite<ReadCode & { status: 'expired' | 'max_attempts' }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_codes')
      .set({ status: slot('status') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'pending')
      .where('attempts', '=', slot('attempts')),
  1,
)

export const markCodeVerified = prepareWrite<ReadCode & { at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_codes')
      .set({ status: 'verified', verified_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'pending')
      .where('attempts', '=', slot('attempts')),
  1,
)
