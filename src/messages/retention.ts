/**
 * Forgetting, in small steps, so that no step holds up the mail.
 *
 * The bytes of a message go `retention.messages` after it came in, once all of its
 * recipients are settled. Its record, attempts and events go after `retention.events`.
 * A step removes at most `STEP` rows of a kind; true means that there may be more.
 */
import { oldestEvent, removeOldEvents } from '../events/event-log.js'
import type { Database } from '../storage/database.js'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import { removeAttempts } from './attempts.js'
import { removeRaw, removeSignature } from './raw-message.js'

const STEP = 200

export interface RetentionLimits {
  /** Epoch milliseconds: what is older goes. */
  readonly messagesBefore: number
  readonly eventsBefore: number
}

/** One small step; resolves to whether there may be more to do. */
export async function forgetStep(database: Database, limits: RetentionLimits): Promise<boolean> {
  const { messagesBefore, eventsBefore } = limits
  const raws = oldRaw(database.read, { before: messagesBefore, limit: STEP }).map(({ email_id }) => email_id)
  const event = oldestEvent(database.read, {})[0]
  const emails = oldEmails(database.read, { before: eventsBefore, limit: STEP }).map(({ id }) => id)
  const eventIsOld = event !== undefined && event.created_at < eventsBefore

  const writes = [
    ...[...raws, ...emails].flatMap((emailId) => [removeRaw({ emailId }), removeSignature({ emailId })]),
    ...(eventIsOld ? [removeOldEvents({ before: eventsBefore, seq: event.seq + STEP })] : []),
    ...emails.flatMap((id) => [removeAttempts({ emailId: id }), removeRecipients({ id }), removeEmail({ id })]),
  ]
  if (writes.length === 0) return false
  await database.commit(writes)
  return raws.length === STEP || emails.length === STEP || eventIsOld
}

/** Messages old enough to go, whose recipients are all settled. */
const oldRaw = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages as old')
    .select('old.email_id')
    .where('old.created_at', '<', slot('before'))
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('queue').select('queue.id').whereRef('queue.email_id', '=', 'old.email_id'))),
    )
    .limit(slot('limit')),
)

/** In the order of their ids, which is that of their time. */
const oldEmails = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails as old')
    .select('old.id')
    .where('old.created_at', '<', slot('before'))
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('queue').select('queue.id').whereRef('queue.email_id', '=', 'old.id'))),
    )
    .orderBy('old.created_at')
    .limit(slot('limit')),
)

const removeRecipients = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('recipients').where('email_id', '=', slot('id')),
)
const removeEmail = prepareWrite<{ id: string }>(({ db, slot }) => db.deleteFrom('emails').where('id', '=', slot('id')))
