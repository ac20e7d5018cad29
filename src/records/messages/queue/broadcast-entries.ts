/**
 * The queue entries of a broadcast: how many wait, and changes of all of them in portions.
 *
 * Each statement walks the index `queue_of_broadcast`, so its cost does not grow with the queue. An entry that is being
 * attempted stays as it is: its outcome is decided on the wire, and the next portion finds it if it was deferred.
 */
import { prepareRead, prepareWrite, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { HOLD, type Hold } from '../../../base/storage/tables/hold.js'
import type { QueueEntry } from './queue.js'

/** The entries of one commit. Measured: 2.5 ms of the writer to hold or give back this many, 5 ms to cancel them. */
const HOLD_PORTION = 200
const CANCEL_PORTION = 100

interface OfBroadcast {
  readonly broadcastId: string
}

const freshEntryAt = prepareRead<OfBroadcast & { offset: number }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('held', '=', HOLD.none)
    .where('attempts', '=', 0)
    .where('waits_for', 'is', null)
    .limit(1)
    .offset(slot('offset')),
)

const ruledEntryAt = prepareRead<OfBroadcast & { offset: number }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('held', '=', HOLD.byRule)
    .limit(1)
    .offset(slot('offset')),
)

/**
 * Tells whether more than `count` entries were never attempted and wait for no host that is down, or whether a hold
 * rule holds more than `count` entries.
 */
export async function hasFreshEntriesOver(
  read: Read,
  { broadcastId, count }: OfBroadcast & { readonly count: number },
): Promise<boolean> {
  const place = { broadcastId, offset: count }
  return (await freshEntryAt(read, place)).length > 0 || (await ruledEntryAt(read, place)).length > 0
}

const anyEntry = prepareRead<OfBroadcast>()(({ db, slot }) =>
  db.selectFrom('queue').select('id').where('broadcast_id', '=', slot('broadcastId')).limit(1),
)

export async function hasEntries(read: Read, of: OfBroadcast): Promise<boolean> {
  return (await anyEntry(read, of)).length > 0
}

const unleasedEntry = prepareRead<OfBroadcast & { held: Hold }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('held', '=', slot('held'))
    .where('leased', '=', 0)
    .limit(1),
)

/** Tells whether there is an entry that a pause has to hold. */
export async function hasEntriesToHold(read: Read, of: OfBroadcast): Promise<boolean> {
  return (await unleasedEntry(read, { ...of, held: HOLD.none })).length > 0
}

/** Tells whether there is an entry that a pause has held. */
export async function hasPausedEntries(read: Read, of: OfBroadcast): Promise<boolean> {
  return (await unleasedEntry(read, { ...of, held: HOLD.byBroadcast })).length > 0
}

const anyUnleased = prepareRead<OfBroadcast>()(({ db, slot }) =>
  db.selectFrom('queue').select('id').where('broadcast_id', '=', slot('broadcastId')).where('leased', '=', 0).limit(1),
)

/** Tells whether there is an entry that is not being attempted. */
export async function hasRemovableEntries(read: Read, of: OfBroadcast): Promise<boolean> {
  return (await anyUnleased(read, of)).length > 0
}

const leasedEntry = prepareRead<OfBroadcast>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('held', '=', HOLD.none)
    .where('leased', '=', 1)
    .limit(1),
)

/** Tells whether an entry is being attempted. */
export async function hasAttempts(read: Read, of: OfBroadcast): Promise<boolean> {
  return (await leasedEntry(read, of)).length > 0
}

const moveHold = prepareWrite<OfBroadcast & { from: Hold; to: Hold; limit: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ held: slot('to') })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('queue')
        .select('id')
        .where('broadcast_id', '=', slot('broadcastId'))
        .where('held', '=', slot('from'))
        .where('leased', '=', 0)
        .limit(slot('limit')),
    ),
)

/** Holds a portion. Entries that the operator holds stay as they are. */
export function holdPortion(broadcastId: string): Write {
  return moveHold({ broadcastId, from: HOLD.none, to: HOLD.byBroadcast, limit: HOLD_PORTION })
}

/** Gives back a portion of what `holdPortion` has held. The entries are due as before. */
export function unholdPortion(broadcastId: string): Write {
  return moveHold({ broadcastId, from: HOLD.byBroadcast, to: HOLD.none, limit: HOLD_PORTION })
}

/** Selects the same entries in each statement of a commit that changes the queue only with its last one. */
function selectPortion<Values extends OfBroadcast & { limit: number }>(
  { db, slot }: StatementBuilder<Values>,
  column: 'id' | 'email_id',
) {
  return db
    .selectFrom('queue')
    .select(column)
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('leased', '=', 0)
    .orderBy('held')
    .orderBy('attempts')
    .orderBy('waits_for')
    .orderBy('id')
    .limit(slot('limit'))
}

const cancelRecipients = prepareWrite<OfBroadcast & { at: number; limit: number }>((builder) =>
  builder.db
    .updateTable('recipients')
    .set({ status: 'cancelled', settled_at: builder.slot('at') })
    .where('id', 'in', selectPortion(builder, 'id'))
    .where('status', '=', 'queued'),
)

/** Cancels the emails too: a broadcast's message has one recipient, so the email has the recipient's status. */
const cancelEmails = prepareWrite<OfBroadcast & { limit: number }>((builder) =>
  builder.db
    .updateTable('emails')
    .set({ status: 'cancelled', recipients_queued: 0, recipients_cancelled: 1 })
    .where('id', 'in', selectPortion(builder, 'email_id'))
    .where('status', '=', 'queued'),
)

const removePortion = prepareWrite<OfBroadcast & { limit: number }>((builder) =>
  builder.db.deleteFrom('queue').where('id', 'in', selectPortion(builder, 'id')),
)

/** Removes a portion, including what the operator holds: recipients and emails are cancelled. No event is recorded. */
export function cancelPortion(broadcastId: string, at: number): readonly Write[] {
  const portion = { broadcastId, limit: CANCEL_PORTION }
  return [cancelRecipients({ ...portion, at }), cancelEmails(portion), removePortion(portion)]
}

const cancelRecipient = prepareWrite<{ id: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('recipients')
    .set({ status: 'cancelled', settled_at: slot('at') })
    .where('id', '=', slot('id'))
    .where('status', '=', 'queued'),
)

const cancelEmail = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set({ status: 'cancelled', recipients_queued: 0, recipients_cancelled: 1 })
    .where('id', '=', slot('emailId'))
    .where('status', '=', 'queued'),
)

/** Misses if the entry was changed since it was read, just like the lease of an attempt. */
export const removeUnchanged = prepareWrite<Pick<QueueEntry, 'id' | 'attempts' | 'next_attempt_at'>>(
  ({ db, slot }) =>
    db
      .deleteFrom('queue')
      .where('id', '=', slot('id'))
      .where('attempts', '=', slot('attempts'))
      .where('next_attempt_at', '=', slot('next_attempt_at'))
      .where('held', '=', HOLD.none),
  1,
)

/** Cancels one entry, as `cancelPortion` does. Misses if it was changed since it was read, like an attempt's lease. */
export function cancelEntry(entry: QueueEntry, at: number): readonly Write[] {
  const { id, email_id: emailId } = entry
  return [cancelRecipient({ id, at }), cancelEmail({ emailId }), removeUnchanged(entry)]
}
