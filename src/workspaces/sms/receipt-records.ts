/**
 * Reads and changes what receipts are about: the state of each part, and the delivery of the code.
 *
 *   part:      sent -> delivered | failed
 *   delivery:  sent -> delivered   (all parts are)
 *                   -> failed      (one part is)
 *
 * Each change asserts what it was decided from, so of two changes at the same moment one misses.
 */
import { type Selectable, sql } from 'kysely'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import type { SmsPartsTable } from '../../base/storage/tables/sms-tables.js'
import type { CodeRef } from './sms-records.js'

/** Finds the part of the newest message with this id of the provider. A provider may use ids again. */
export const findPart = prepareRead<{ provider: string; messageId: string }>()(({ db, slot }) =>
  db
    .selectFrom('sms_parts')
    .selectAll()
    .where('provider', '=', slot('provider'))
    .where('message_id', '=', slot('messageId'))
    .orderBy('sms_id', 'desc')
    .limit(1),
)

/** Finds the code by its id alone, because a receipt names no workspace. */
export const findReportedCode = prepareRead<{ id: string }>()(({ db, slot }) =>
  db
    .selectFrom('sms_codes')
    .select(['id', 'workspace_id', 'phone', 'country', 'encoding', 'segments', 'metadata', 'delivery', 'provider'])
    .where('id', '=', slot('id')),
)

export const listPartStates = prepareRead<CodeRef>()(({ db, slot }) =>
  db
    .selectFrom('sms_parts')
    .select(['part', 'state'])
    .where('sms_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

type ReportedState = Exclude<Selectable<SmsPartsTable>['state'], 'sent'>

/**
 * `delivered` is the number of delivered parts of the message. Misses if that number has changed, or if the part has
 * a final state. So if two receipts arrive at the same moment, the second sees the first.
 */
export const settlePart = prepareWrite<CodeRef & { part: number; state: ReportedState; delivered: number }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_parts')
      .set({ state: slot('state') })
      .where('sms_id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('part', '=', slot('part'))
      .where('state', '=', 'sent')
      .where(
        (eb) =>
          eb
            .selectFrom('sms_parts as sibling')
            .select(sql<number>`count(*)`.as('count'))
            .where('sibling.sms_id', '=', slot('id'))
            .where('sibling.state', '=', 'delivered'),
        '=',
        slot('delivered'),
      ),
  1,
)

/** Settles the parts without a final state. */
export const settleParts = prepareWrite<CodeRef & { state: ReportedState }>(({ db, slot }) =>
  db
    .updateTable('sms_parts')
    .set({ state: slot('state') })
    .where('sms_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('state', '=', 'sent'),
)

/** Misses when the delivery is final, or when it has not begun. */
export const markDelivered = prepareWrite<CodeRef & { at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_codes')
      .set({ delivery: 'delivered', delivered_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('delivery', '=', 'sent'),
  1,
)

/** The code stays valid, because the phone may have the message all the same. Misses as `markDelivered` does. */
export const markUndelivered = prepareWrite<CodeRef & { at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_codes')
      .set({ delivery: 'failed', reason: 'undelivered', failed_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('delivery', '=', 'sent'),
  1,
)
