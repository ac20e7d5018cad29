/**
 * Decides which opens and clicks of a broadcast's message are recorded. A *first hit* is the first open or click of a
 * recipient of a broadcast, by a person or by a machine. A message has one recipient. A click that counted as a
 * person's until a sweep showed a machine stays recorded too.
 *
 * The object knows what the planned batch adds to the log, so create one for each try of a batch, and plan one hit
 * after another.
 */
import { sql } from 'kysely'
import { jsonFlag, jsonText } from '../../base/storage/db/dialect.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

type Kind = 'open' | 'click'

interface Recorded {
  /** The event of a person. Null if there is none. */
  person: string | null
  /** The number of events of machines. */
  machines: number
}

interface RecordedKey {
  readonly emailId: string
  readonly kind: Kind
}

const eventTypes = { open: 'email.opened', click: 'email.clicked' } as const

const isMachine = () => jsonFlag('data', 'machine')

/** The most clicks of machines of one message. Beyond it, clicks count as a person's, so that the log is bounded. */
const MAX_MACHINES = 5

const recordedEvents = prepareRead<{ emailId: string; type: (typeof eventTypes)[Kind] }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['id', isMachine().as('machine')])
    .where('email_id', '=', slot('emailId'))
    .where('type', '=', slot('type'))
    .limit(MAX_MACHINES + 1),
)

export class FirstHits {
  private readonly read: Read
  private readonly known = new Map<string, Promise<Recorded>>()

  constructor(read: Read) {
    this.read = read
  }

  async has(key: RecordedKey, machine: boolean): Promise<boolean> {
    const { person, machines } = await this.find(key)
    return machine ? machines > 0 : person !== null
  }

  async add(key: RecordedKey, machine: boolean, eventId: string): Promise<void> {
    const recorded = await this.find(key)
    if (machine) recorded.machines += 1
    else recorded.person = eventId
  }

  /** Returns the event that counted as a person's, if it is among these clicks of a machine, else null. */
  async moveClick(emailId: string, eventIds: readonly string[]): Promise<string | null> {
    const recorded = await this.find({ emailId, kind: 'click' })
    const { person, machines } = recorded
    if (person === null || machines >= MAX_MACHINES || !eventIds.includes(person)) return null
    recorded.person = null
    recorded.machines += 1
    return person
  }

  private find({ emailId, kind }: RecordedKey): Promise<Recorded> {
    const key = `${kind} ${emailId}`
    const recorded = this.known.get(key) ?? this.load({ emailId, kind })
    this.known.set(key, recorded)
    return recorded
  }

  private async load({ emailId, kind }: RecordedKey): Promise<Recorded> {
    const events = await recordedEvents(this.read, { emailId, type: eventTypes[kind] })
    return {
      person: events.find(({ machine }) => machine === 0)?.id ?? null,
      machines: events.filter(({ machine }) => machine === 1).length,
    }
  }
}

/** Reads the click of a person, as statistics show it. */
export const firstClickOf = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select([jsonText('data', 'url').as('url'), jsonText('data', 'clicked_at').as('clicked_at')])
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('type', '=', 'email.clicked')
    .where(isMachine(), '=', sql.lit(0))
    .limit(1),
)
