/**
 * The records of codes, from the admission of a request to the provider's answer. `check-records.ts` has the checks.
 *
 *   sending -> pending -> verified | expired | max_attempts | replaced
 *           -> void
 *
 * Each change asserts the state that it was decided from, so of two changes at the same moment one misses.
 */
import { type Selectable, sql } from 'kysely'
import type { Store } from '../../base/storage/db/database.js'
import { greatestOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import type { SmsCodesTable, SmsFault, SmsPartsTable } from '../../base/storage/tables/sms-tables.js'

export type CodeRow = Selectable<SmsCodesTable>

export interface CodeRef {
  readonly id: string
  readonly workspaceId: string
}

export type NewCode = Omit<
  CodeRow,
  'status' | 'delivery' | 'attempts' | 'reason' | 'sent_at' | 'verified_at' | 'delivered_at' | 'failed_at'
>

/** Misses when the workspace is deleted. */
export const insertCode = prepareWrite<NewCode>(({ db, slot }) => {
  const living = db.selectFrom('workspaces').select('id').where('id', '=', slot('workspace_id'))
  const row = db
    .selectNoFrom((eb) => [
      eb.val(slot('id')).as('id'),
      eb.val(slot('workspace_id')).as('workspace_id'),
      eb.val(slot('phone')).as('phone'),
      eb.val(slot('prefix')).as('prefix'),
      eb.val(slot('country')).as('country'),
      sql.lit('sending' as const).as('status'),
      eb.val(slot('salt')).as('salt'),
      eb.val(slot('code_hash')).as('code_hash'),
      sql.lit(0).as('attempts'),
      eb.val(slot('metadata')).as('metadata'),
      eb.val(slot('encoding')).as('encoding'),
      eb.val(slot('segments')).as('segments'),
      eb.val(slot('provider')).as('provider'),
      sql.lit('sending' as const).as('delivery'),
      eb.val(slot('created_at')).as('created_at'),
      eb.val(slot('expires_at')).as('expires_at'),
    ])
    .where((eb) => eb.exists(living))
  const destination = ['phone', 'prefix', 'country'] as const
  const message = ['metadata', 'encoding', 'segments', 'provider', 'delivery', 'created_at', 'expires_at'] as const
  return db
    .insertInto('sms_codes')
    .columns(['id', 'workspace_id', ...destination, 'status', 'salt', 'code_hash', 'attempts', ...message])
    .expression(row)
}, 1)

/** Ends an older pending code of this phone. */
export const replacePendingCode = prepareWrite<{ workspaceId: string; phone: string }>(({ db, slot }) =>
  db
    .updateTable('sms_codes')
    .set({ status: 'replaced' })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('phone', '=', slot('phone'))
    .where('status', '=', sql.lit('pending' as const)),
)

/**
 * Makes the code valid from now on. Misses when it is no longer `sending`. Its `sent_at` is later than that of each
 * other code of the phone, whatever the clock says, because the latest code decides a check.
 */
export const markCodeSent = prepareWrite<CodeRef & { at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_codes')
      .set({
        status: 'pending',
        delivery: 'sent',
        sent_at: greatestOf(
          slot('at'),
          sql`1 + coalesce((select max(other.sent_at) from sms_codes as other
            where other.workspace_id = sms_codes.workspace_id and other.phone = sms_codes.phone
              and other.status in ('pending', 'verified', 'expired', 'max_attempts')), 0)`,
        ),
      })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'sending'),
  1,
)

/** Makes the code void, so that it never becomes valid. Misses when it is no longer `sending`. */
export const voidCode = prepareWrite<CodeRef & { reason: SmsFault; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_codes')
      .set({ status: 'void', delivery: 'failed', reason: slot('reason'), failed_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'sending'),
  1,
)

export const insertPart = prepareWrite<Omit<Selectable<SmsPartsTable>, 'state'>>(({ db, slots }) =>
  db
    .insertInto('sms_parts')
    .values({ ...slots(['sms_id', 'part', 'workspace_id', 'provider', 'message_id']), state: 'sent' }),
)

/** Finds the codes of all workspaces. SQLite uses the partial index only for a literal. */
export const listSendingCodes = prepareRead<{ after: string; before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('sms_codes')
    .selectAll()
    .where('status', '=', sql.lit('sending' as const))
    .where('id', '>', slot('after'))
    .where('created_at', '<', slot('before'))
    .orderBy('id')
    .limit(slot('limit')),
)

/** Codes that one step removes. */
const BATCH_SIZE = 500

/** Finds the codes of all workspaces. */
const oldCodes = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('sms_codes')
    .select('created_at')
    .where('created_at', '<', slot('before'))
    .orderBy('created_at')
    .limit(BATCH_SIZE),
)

const removePartsUpTo = prepareWrite<{ at: number }>(({ db, slot }) =>
  db
    .deleteFrom('sms_parts')
    .where('sms_id', 'in', db.selectFrom('sms_codes').select('id').where('created_at', '<=', slot('at'))),
)

const removeCodesUpTo = prepareWrite<{ at: number }>(({ db, slot }) =>
  db.deleteFrom('sms_codes').where('created_at', '<=', slot('at')),
)

/**
 * Removes some codes that were created before `before`, oldest first, with the parts of their messages. Events have a
 * separate retention. Resolves to whether there may be more.
 */
export async function removeOldCodes({ read, commit }: Store, before: number): Promise<boolean> {
  const old = await oldCodes(read, { before })
  const at = old.at(-1)?.created_at
  if (at !== undefined) await commit([removePartsUpTo({ at }), removeCodesUpTo({ at })])
  return old.length === BATCH_SIZE
}
