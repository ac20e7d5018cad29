/**
 * Which opens and clicks of a broadcast's message are recorded: the first of a person and the first of a machine, of
 * each kind. A message has one recipient.
 *
 * It knows what the batch that is being planned adds to the log, so it is to be created for each batch.
 */
import { sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'

type Kind = 'open' | 'click'

/** The ids of the events; null: there is none yet. */
interface Recorded {
  person: string | null
  machine: string | null
}

interface RecordedKey {
  readonly emailId: string
  readonly kind: Kind
}

const eventTypes = { open: 'email.opened', click: 'email.clicked' } as const

const isMachine = sql<number>`json_extract(data, '$.machine')`

/** One of a person and one of a machine at most. */
const recordedEvents = prepareRead<{ emailId: string; type: (typeof eventTypes)[Kind] }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['id', isMachine.as('machine')])
    .where('email_id', '=', slot('emailId'))
    .where('type', '=', slot('type'))
    .limit(2),
)

/** The click of a machine that was recorded before another click was found to be one. */
export const removeEvent = prepareWrite<{ workspaceId: string; emailId: string; id: string }>(({ db, slot }) =>
  db
    .deleteFrom('events')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id')),
)

export class FirstHits {
  private readonly read: Read
  private readonly known = new Map<string, Recorded>()

  constructor(read: Read) {
    this.read = read
  }

  has(key: RecordedKey, by: keyof Recorded): boolean {
    return this.find(key)[by] !== null
  }

  add(key: RecordedKey, by: keyof Recorded, eventId: string): void {
    this.find(key)[by] = eventId
  }

  /**
   * The recorded click of a person was a machine's, if it is among `eventIds`; null: it is not. `replaced`: the event
   * that was the machine's until now.
   */
  moveClick(
    emailId: string,
    eventIds: readonly string[],
  ): { readonly moved: string; readonly replaced: string | null } | null {
    const recorded = this.find({ emailId, kind: 'click' })
    const { person: moved, machine: replaced } = recorded
    if (moved === null || !eventIds.includes(moved)) return null
    recorded.person = null
    recorded.machine = moved
    return { moved, replaced }
  }

  private find({ emailId, kind }: RecordedKey): Recorded {
    const key = `${kind} ${emailId}`
    const recorded = this.known.get(key) ?? this.load({ emailId, kind })
    this.known.set(key, recorded)
    return recorded
  }

  private load({ emailId, kind }: RecordedKey): Recorded {
    const events = recordedEvents(this.read, { emailId, type: eventTypes[kind] })
    const idOf = (machine: 0 | 1): string | null => events.find((event) => event.machine === machine)?.id ?? null
    return { person: idOf(0), machine: idOf(1) }
  }
}

/** The click of a person, as statistics show it. */
export const firstClickOf = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select([
      sql<string>`json_extract(data, '$.url')`.as('url'),
      sql<string>`json_extract(data, '$.clicked_at')`.as('clicked_at'),
    ])
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('type', '=', 'email.clicked')
    .where(isMachine, '=', 0)
    .limit(1),
)
