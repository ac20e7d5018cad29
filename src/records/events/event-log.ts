/**
 * The log of events, in their order.
 *
 * `seq` grows with every event and is never reused, so a reader can use it as a cursor; on PostgreSQL only within the
 * events of one `slot` (`storage/schema/events.ts`). `created_at` decreases along `seq` by no more than `maxDisorder`, so
 * a binary search finds a time (`event-times.ts`): an event that is stored late, after an outage, has the time of the
 * event before it, or on PostgreSQL that of the server. `data` (`payloads.ts`) says when the event really happened.
 */
import type { Compilable } from 'kysely'
import { uuidv7 } from '../../base/platform/ids.js'
import { timeInLog } from '../../base/storage/db/commit-order.js'
import {
  prepareInsert,
  prepareRead,
  prepareWrite,
  type Read,
  type StatementBuilder,
} from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { type Json, type JsonObject, type Timestamp, toJson } from '../../base/storage/tables/columns.js'
import type { EventType, InternalEventType } from '../../base/storage/tables/email-tables.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import type { AllPayloads } from './payloads.js'

interface EventOf<Type extends keyof AllPayloads> {
  readonly workspaceId: string
  readonly type: Type
  readonly emailId: string | null
  readonly recipient: string | null
  readonly at: number
  readonly data: AllPayloads[Type]
}

type Event = { [Type in keyof AllPayloads]: EventOf<Type> }[keyof AllPayloads]

interface EventRow {
  id: string
  workspaceId: string
  type: EventType | InternalEventType
  emailId: string | null
  recipient: string | null
  at: number
  data: Json<JsonObject>
}

function buildInsert(builder: StatementBuilder<EventRow>): Compilable {
  const { db, slot } = builder
  return db.insertInto('events').values({
    id: slot('id'),
    workspace_id: slot('workspaceId'),
    type: slot('type'),
    email_id: slot('emailId'),
    recipient: slot('recipient'),
    created_at: timeInLog(slot('at')),
    data: slot('data'),
  })
}

// The log stays in the order of time, also where an event was delayed by an outage.
const insert = prepareInsert(buildInsert, ({ at }) => at)
const insertInPlace = prepareWrite(buildInsert)

export function createEventId(at: number): string {
  return `evt_${uuidv7(at)}`
}

export function recordEvent(event: Event): Write {
  return insert(toRow(event))
}

/** The same, if the next write of the commit is about this event as the newest one. */
export function recordNewestEvent(event: Event): Write {
  return insertInPlace(toRow(event))
}

function toRow({ at, data, ...others }: Event): EventRow {
  return { id: createEventId(at), ...others, at, data: toJson(data) }
}

interface FirstEventKey {
  readonly workspaceId: string
  readonly emailId: string
  readonly type: EventType | InternalEventType
  readonly recipient: string
  readonly since: Timestamp
}

function selectSimilar<Values extends FirstEventKey>({ db, slot }: StatementBuilder<Values>) {
  return db
    .selectFrom('events')
    .select('seq')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('type', '=', slot('type'))
    .where('recipient', '=', slot('recipient'))
    .where('created_at', '>', slot('since'))
}

const insertFirst = prepareWrite<Omit<EventRow, 'emailId' | 'recipient'> & FirstEventKey>((builder) => {
  const { db, slot } = builder
  const row = db
    .selectNoFrom((eb) => [
      eb.val(slot('id')).as('id'),
      eb.val(slot('workspaceId')).as('workspace_id'),
      eb.val(slot('type')).as('type'),
      eb.val(slot('emailId')).as('email_id'),
      eb.val(slot('recipient')).as('recipient'),
      timeInLog(slot('at')).as('created_at'),
      eb.val(slot('data')).as('data'),
    ])
    .where((eb) => eb.not(eb.exists(selectSimilar(builder))))
  const columns = ['id', 'workspace_id', 'type', 'email_id', 'recipient', 'created_at', 'data'] as const
  return db.insertInto('events').columns(columns).expression(row)
}, 1)

export type RecipientEvent = Event & { readonly emailId: string; readonly recipient: string }

/** Misses if there is an event of this type for this recipient of the email later than `since`. */
export function recordFirstEvent(event: RecipientEvent, since: number): Write {
  const { workspaceId, type, emailId, recipient, at, data } = event
  const id = createEventId(at)
  return insertFirst({ id, workspaceId, type, emailId, recipient, at, since, data: toJson(data) })
}

const firstSimilar = prepareRead<FirstEventKey>()((builder) => selectSimilar(builder).limit(1))

/** Tells whether `recordFirstEvent` would miss. */
export async function isRecorded(read: Read, event: RecipientEvent, since: number): Promise<boolean> {
  const { workspaceId, type, emailId, recipient } = event
  return (await firstSimilar(read, { workspaceId, type, emailId, recipient, since })).length > 0
}

const insertHit = prepareWrite<Omit<EventRow, 'emailId'> & { emailId: string }>((builder) => {
  const { db, slot } = builder
  const row = db
    .selectFrom('emails')
    .select((eb) => [
      eb.val(slot('id')).as('id'),
      'emails.workspace_id',
      eb.val(slot('type')).as('type'),
      'emails.id as email_id',
      eb.val(slot('recipient')).as('recipient'),
      timeInLog(slot('at')).as('created_at'),
      eb.val(slot('data')).as('data'),
    ])
    .where('emails.id', '=', slot('emailId'))
    .where('emails.workspace_id', '=', slot('workspaceId'))
  const columns = ['id', 'workspace_id', 'type', 'email_id', 'recipient', 'created_at', 'data'] as const
  return db.withTables<{ hits: Tables['events'] }>().insertInto('hits').columns(columns).expression(row)
})

type HitEvent = RecipientEvent & { readonly type: 'email.opened' | 'email.clicked' }

/**
 * Records an open or a click. This is the only function that does, because a trigger of the view `hits` also counts
 * them; a trigger of the log would slow down all other events. Records nothing if the email is gone, for example
 * because its workspace was erased. `id` comes from `createEventId`.
 */
export function recordHit({ workspaceId, type, emailId, recipient, at, data }: HitEvent, id: string): Write {
  return insertHit({ id, workspaceId, type, emailId, recipient, at, data: toJson(data) })
}

const eventOfEmail = prepareRead<{ emailId: string; id: string }>()(({ db, slot }) =>
  db.selectFrom('events').select('seq').where('email_id', '=', slot('emailId')).where('id', '=', slot('id')).limit(1),
)

export async function isEventRecorded(
  read: Read,
  event: { readonly emailId: string; readonly id: string },
): Promise<boolean> {
  return (await eventOfEmail(read, event)).length > 0
}

/** Reads the oldest event in the log. */
export const oldestEvent = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('events').select(['seq', 'created_at']).orderBy('seq').limit(1),
)

/** Removes events older than `before`, up to `seq`: the bound on `seq` keeps a step from walking the entire table. */
export const removeOldEvents = prepareWrite<{ before: number; seq: number }>(({ db, slot }) =>
  db.deleteFrom('events').where('seq', '<=', slot('seq')).where('created_at', '<', slot('before')),
)
