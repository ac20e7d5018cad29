/**
 * Cancels or reschedules a scheduled email.
 *
 * The lease of its first entry releases an email (`delivery/`): in one commit the entry is leased, and all recipients
 * and the email leave `scheduled`. A change is one commit too, and each of its writes states how many rows it must find
 * as they were read. The writer runs one of the two after the other, so exactly one of them finds what it expects, and
 * the other misses completely. A cancelled email is never sent, and an email that is being sent is never cancelled.
 *
 * An email is scheduled while every entry of it waits unchanged for a scheduled recipient. Entries that the operator
 * holds count as waiting; an entry whose attempt has begun does not.
 */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { countChange } from '../../base/storage/db/table-changes.js'
import { type Write, WriteConflict } from '../../base/storage/db/write.js'
import type { Email } from './email/email.js'
import { requireVisibleEmail, type Viewer } from './email-resource.js'

/** Throws a Refusal: `email-not-found`, or `conflict` if it is no longer scheduled. */
export function cancelScheduled(deps: Store, viewer: Viewer, id: string, now: number): Promise<void> {
  return changeScheduled(deps, viewer, id, 'cancelled', (email, rows) => [
    cancelEmail(email),
    removeEntries(rows)(email),
    cancelRecipients(rows)({ ...email, at: now }),
  ])
}

/** Throws the refusals of `cancelScheduled`. The email's position in the queue changes, so notify the sweeps. */
export function reschedule(deps: Store, viewer: Viewer, id: string, at: number): Promise<void> {
  return changeScheduled(deps, viewer, id, 'rescheduled', (email, rows) => [
    rescheduleEmail({ ...email, at }),
    rescheduleEntries(rows)({ ...email, at }),
    countChange('due_mail'),
  ])
}

/** Sets the time of the email to `now`, so this commit releases it. */
export function sendScheduledNow(deps: Store, viewer: Viewer, id: string, now: number): Promise<void> {
  return changeScheduled(deps, viewer, id, 'rescheduled', (email, rows) => [
    unscheduleEmail(email),
    rescheduleEntries(rows)({ ...email, at: now }),
    queueRecipients(rows)(email),
    countChange('due_mail'),
  ])
}

/** The most tries. After a change of the email or its entries between read and write, it is read again. */
const MAX_TRIES = 5

interface EmailRef {
  readonly emailId: string
  readonly workspaceId: string
}

type BuildWrites = (email: EmailRef, rows: number) => readonly Write[]

async function changeScheduled(
  { read, commit }: Store,
  viewer: Viewer,
  id: string,
  what: 'cancelled' | 'rescheduled',
  writes: BuildWrites,
): Promise<void> {
  for (let left = MAX_TRIES; ; left -= 1) {
    const email = await requireVisibleEmail(read, viewer, id)
    const rows = await countWaitingEntries(read, email)
    // The email may have changed since it was read: its entries are younger.
    if (rows === null || left === 0) throw buildConflict(await requireVisibleEmail(read, viewer, id), what)
    try {
      return await commit(writes({ emailId: id, workspaceId: email.workspace_id }, rows))
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error
    }
  }
}

/** Returns the number of its waiting entries, or null if it is no longer scheduled. */
async function countWaitingEntries(read: Read, { id, workspace_id, status }: Email): Promise<number | null> {
  if (status !== 'scheduled') return null
  const entries = await entriesOfEmail(read, { emailId: id, workspaceId: workspace_id })
  const waits = entries.every((entry) => entry.leased === 0 && entry.status === 'scheduled')
  return waits && entries.length > 0 ? entries.length : null
}

function buildConflict({ id, status, scheduled_for }: Email, what: string): Refusal {
  // An attempt may have begun although the status was read as scheduled: the status follows at once.
  const found = status === 'scheduled' ? 'being sent' : status
  return new Refusal('conflict', `only a scheduled email can be ${what}: ${formatForDisplay(id)} is ${found}`, {
    id,
    status,
    scheduled_for: scheduled_for === null ? null : formatTimestamp(scheduled_for),
  })
}

const entriesOfEmail = prepareRead<{ emailId: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .innerJoin('recipients', 'recipients.id', 'queue.id')
    .select(['queue.leased', 'recipients.status'])
    .where('queue.email_id', '=', slot('emailId'))
    .where('queue.workspace_id', '=', slot('workspaceId')),
)

/** Cancels the email. The time for which it was scheduled stays on record. */
const cancelEmail = prepareWrite<EmailRef>(
  ({ db, slot }) =>
    db
      .updateTable('emails')
      .set((eb) => ({
        status: 'cancelled' as const,
        recipients_cancelled: eb.ref('recipients_queued'),
        recipients_queued: 0,
      }))
      .where('id', '=', slot('emailId'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'scheduled'),
  1,
)

/** Releases the email as if it had never been scheduled. */
const unscheduleEmail = prepareWrite<EmailRef>(
  ({ db, slot }) =>
    db
      .updateTable('emails')
      .set({ status: 'queued', scheduled_for: null })
      .where('id', '=', slot('emailId'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'scheduled'),
  1,
)

const rescheduleEmail = prepareWrite<EmailRef & { at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('emails')
      .set({ scheduled_for: slot('at') })
      .where('id', '=', slot('emailId'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'scheduled'),
  1,
)

/** Prepares the write that `build` makes. It must change as many rows as there are entries. */
function prepareCountedWrite<Values extends object>(
  build: Parameters<typeof prepareWrite<Values>>[0],
): (rows: number) => (values: Values) => Write {
  const write = prepareWrite<Values>(build)
  return (rows) => (values) => ({ ...write(values), rows })
}

const removeEntries = prepareCountedWrite<EmailRef>(({ db, slot }) =>
  db
    .deleteFrom('queue')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('leased', '=', 0),
)

/** Reschedules the entries. Their age counts from the scheduled time. */
const rescheduleEntries = prepareCountedWrite<EmailRef & { at: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ next_attempt_at: slot('at'), enqueued_at: slot('at'), waits_for: null })
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('leased', '=', 0),
)

const cancelRecipients = prepareCountedWrite<EmailRef & { at: number }>(({ db, slot }) =>
  db
    .updateTable('recipients')
    .set({ status: 'cancelled', settled_at: slot('at') })
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('status', '=', 'scheduled'),
)

const queueRecipients = prepareCountedWrite<EmailRef>(({ db, slot }) =>
  db
    .updateTable('recipients')
    .set({ status: 'queued' })
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('status', '=', 'scheduled'),
)
