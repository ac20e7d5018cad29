/**
 * Removes old messages and records in small steps, so that no step delays the mail.
 *
 * The bytes of a message, or the values from which a broadcast's message is built, are removed `retention.messages`
 * after it was accepted, once all of its recipients are settled. Its record, attempts and events are removed after
 * `retention.events`. A step reads no more than `STEP` rows of a kind, including those that still wait in the queue.
 */
import { sql } from 'kysely'
import type { Store } from '../../base/storage/db/database.js'
import { firstPlace, placeOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { oldestEvent, removeOldEvents } from '../events/event-log.js'
import { removeHtmlEdits, removeRaw, removeRecipientCopies, removeSignature } from './email/raw-message.js'
import { isFramed, removeSlots } from './frames/framed-message.js'
import { removeAttempts } from './queue/attempts.js'

const BATCH_SIZE = 200

export interface RetentionLimits {
  /** Epoch milliseconds. Older messages are removed. */
  readonly messagesBefore: number
  readonly eventsBefore: number
}

export class MessagePurge {
  private raw: RawCursor = { created_at: -1, place: firstPlace() }
  private framed: EmailCursor = { created_at: -1, id: '' }
  private email: EmailCursor = { created_at: -1, id: '' }

  constructor(
    private readonly store: Store,
    private readonly limits: RetentionLimits,
  ) {}

  /** Takes one small step. Resolves to true if there may be more to do. */
  async step(): Promise<boolean> {
    const { read, commit } = this.store
    const { messagesBefore, eventsBefore } = this.limits
    const raws = await oldRaw(read, { ...this.raw, before: messagesBefore })
    const slots = await oldSlots(read, { ...this.framed, before: messagesBefore })
    const emails = await oldEmails(read, { ...this.email, before: eventsBefore })
    this.raw = raws.at(-1) ?? this.raw
    this.framed = slots.at(-1) ?? this.framed
    this.email = emails.at(-1) ?? this.email
    const goneRaws = raws.filter(({ waits }) => waits === 0).map(({ email_id }) => email_id)
    const goneSlots = slots.filter(({ waits }) => waits === 0).map(({ id }) => id)
    const goneEmails = emails.filter(({ waits }) => waits === 0).map(({ id }) => id)
    const event = (await oldestEvent(read, {}))[0]
    const eventIsOld = event !== undefined && event.created_at < eventsBefore
    const writes = [
      ...[...goneRaws, ...goneSlots, ...goneEmails].flatMap(removeBytes),
      ...(eventIsOld ? [removeOldEvents({ before: eventsBefore, seq: event.seq + BATCH_SIZE })] : []),
      ...goneEmails.flatMap((id) => [removeAttempts({ emailId: id }), removeRecipients({ id }), removeEmail({ id })]),
    ]
    if (writes.length > 0) await commit(writes)
    return [raws, slots, emails].some(({ length }) => length === BATCH_SIZE) || eventIsOld
  }
}

function removeBytes(emailId: string): Write[] {
  if (isFramed(emailId)) return [removeSlots({ emailId }), removeSignature({ emailId })]
  const removals = [removeRaw, removeSignature, removeHtmlEdits, removeRecipientCopies]
  return removals.map((remove) => remove({ emailId }))
}

interface RawCursor {
  readonly created_at: number
  /** The position of the row in its table, in the order of the index by age. */
  readonly place: number | string
}

/** Reads the next old messages, and whether a recipient of each still waits in the queue. */
const oldRaw = prepareRead<RawCursor & { before: number }>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages as old')
    .select(['old.email_id', 'old.created_at', placeOf('old', 'email_id').as('place')])
    .select((eb) =>
      eb
        .exists(eb.selectFrom('queue').select('queue.id').whereRef('queue.email_id', '=', 'old.email_id'))
        .$castTo<number>()
        .as('waits'),
    )
    .where('old.created_at', '<', slot('before'))
    .where(sql<boolean>`(old.created_at, ${placeOf('old', 'email_id')}) > (${slot('created_at')}, ${slot('place')})`)
    .orderBy('old.created_at')
    .orderBy(placeOf('old', 'email_id'))
    .limit(BATCH_SIZE),
)

interface EmailCursor {
  readonly created_at: number
  readonly id: string
}

/** Does what `oldRaw` does, for messages of broadcasts. */
const oldSlots = prepareRead<EmailCursor & { before: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages as old')
    .select(['old.email_id as id', 'old.created_at'])
    .select((eb) =>
      eb
        .exists(eb.selectFrom('queue').select('queue.id').whereRef('queue.email_id', '=', 'old.email_id'))
        .$castTo<number>()
        .as('waits'),
    )
    .where('old.slots', 'is not', null)
    .where('old.created_at', '<', slot('before'))
    .where((eb) => eb(eb.refTuple('old.created_at', 'old.email_id'), '>', eb.tuple(slot('created_at'), slot('id'))))
    .orderBy('old.created_at')
    .orderBy('old.email_id')
    .limit(BATCH_SIZE),
)

const oldEmails = prepareRead<EmailCursor & { before: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails as old')
    .select(['old.id', 'old.created_at'])
    .select((eb) =>
      eb
        .exists(eb.selectFrom('queue').select('queue.id').whereRef('queue.email_id', '=', 'old.id'))
        .$castTo<number>()
        .as('waits'),
    )
    .where('old.created_at', '<', slot('before'))
    .where((eb) => eb(eb.refTuple('old.created_at', 'old.id'), '>', eb.tuple(slot('created_at'), slot('id'))))
    .orderBy('old.created_at')
    .orderBy('old.id')
    .limit(BATCH_SIZE),
)

const removeRecipients = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('recipients').where('email_id', '=', slot('id')),
)
const removeEmail = prepareWrite<{ id: string }>(({ db, slot }) => db.deleteFrom('emails').where('id', '=', slot('id')))
