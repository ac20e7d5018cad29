/** Reads what the recording of hits needs of an email, and writes what hits change. */
import { sql } from 'kysely'
import { isInJsonList, jsonFlag, jsonText, millisecondsOf, patchJson } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Json } from '../../base/storage/tables/columns.js'
import type { DeliveryProgress } from './machine.js'

interface EmailId {
  readonly id: string
}

/** Reads an email of any workspace: its id is the secret of its pixel, as a link's id is the link's secret. */
const emailOfAnyWorkspace = prepareRead<EmailId>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['workspace_id', 'track_opens', 'track_clicks', 'tracking_skipped', 'opened_at', 'broadcast_id'])
    .where('id', '=', slot('id')),
)

/** The most recipients of an email among which the latest delivery is searched. */
const MAX_RECIPIENTS = 100

const firstRecipients = prepareRead<EmailId>()(({ db, slot }) =>
  db
    .selectFrom('recipients')
    .select(['address', 'status', 'delivered_at'])
    .where('email_id', '=', slot('id'))
    .orderBy('id')
    .limit(MAX_RECIPIENTS),
)

const leasedEntry = prepareRead<EmailId>()(({ db, slot }) =>
  db.selectFrom('queue').select('id').where('email_id', '=', slot('id')).where('leased', '=', 1).limit(1),
)

export interface HitEmail {
  readonly id: string
  readonly workspaceId: string
  /** The first recipient that is not suppressed. */
  readonly recipient: string
  readonly progress: DeliveryProgress
  readonly isOpened: boolean
  /** Null if the email belongs to no broadcast. */
  readonly broadcastId: string | null
}

/** Returns null if there is no such email, or if it has no tracking of this kind. */
export async function findHitEmail(read: Read, kind: 'open' | 'click', id: string): Promise<HitEmail | null> {
  const [email] = await emailOfAnyWorkspace(read, { id })
  if (email === undefined || email.tracking_skipped !== null) return null
  if ((kind === 'open' ? email.track_opens : email.track_clicks) === 0) return null
  const recipients = await firstRecipients(read, { id })
  const first = recipients.find(({ status }) => status !== 'suppressed')
  if (first === undefined) return null
  return {
    id,
    workspaceId: email.workspace_id,
    recipient: first.address,
    progress: await readProgress(read, id, recipients),
    isOpened: email.opened_at !== null,
    broadcastId: email.broadcast_id,
  }
}

async function readProgress(
  read: Read,
  id: string,
  recipients: readonly { readonly delivered_at: number | null }[],
): Promise<DeliveryProgress> {
  const deliveries = recipients.flatMap(({ delivered_at: at }) => (at === null ? [] : [at]))
  if (deliveries.length > 0) return { deliveredAt: Math.max(...deliveries), isUnderWay: false }
  return { deliveredAt: null, isUnderWay: (await leasedEntry(read, { id })).length > 0 }
}

interface Moment {
  workspaceId: string
  id: string
  at: number
}

/** Records the first open by a person. */
export const markOpened = prepareWrite<Moment>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set({ opened_at: slot('at') })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('opened_at', 'is', null),
)

/** Records the first click by a person. */
export const markClicked = prepareWrite<Moment>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set({ clicked_at: slot('at') })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('clicked_at', 'is', null),
)

export interface EmailKey {
  readonly workspaceId: string
  readonly emailId: string
}

/** The moment of the click, because the log's own time may be later. */
const clickedAt = () => millisecondsOf(jsonText('events.data', 'clicked_at'))
const clickedUrl = () => jsonText('events.data', 'url')
const isClickOfPerson = () => sql<boolean>`events.type = 'email.clicked' and ${jsonFlag('events.data', 'machine')} = 0`

/** Marks these clicks as a machine's. This is one statement, because each reads all clicks of the email. */
export const markMachineClicks = prepareWrite<EmailKey & { eventIds: Json<readonly string[]> }>(({ db, slot }) =>
  db
    .updateTable('events')
    .set({ data: patchJson('data', sql.lit('{"machine":true}')) })
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('type', '=', 'email.clicked')
    .where(isInJsonList('id', slot('eventIds'))),
)

/** Clears the counts. Run it before `recountClicks`, which finds only the links that persons have clicked. */
export const clearClicks = prepareWrite<EmailKey>(
  ({ db, slot }) =>
    db
      .updateTable('links')
      .set({ clicks: 0, first_clicked_at: null, last_clicked_at: null })
      .where('email_id', '=', slot('emailId'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where(sql<boolean>`clicks > 0`), // a literal, as the partial index has it
)

/** Counts the clicks on the links of an email again, from the events. */
export const recountClicks = prepareWrite<EmailKey>(({ db, slot }) =>
  db
    .updateTable('links')
    .from((eb) =>
      eb
        .selectFrom('events')
        .select((inner) => [
          clickedUrl().as('url'),
          inner.fn.countAll<number>().as('clicks'),
          inner.fn.min<number>(clickedAt()).as('first'),
          inner.fn.max<number>(clickedAt()).as('last'),
        ])
        .where('email_id', '=', slot('emailId'))
        .where('workspace_id', '=', slot('workspaceId'))
        .where(isClickOfPerson())
        .groupBy(clickedUrl())
        .as('counted'),
    )
    .set((eb) => ({
      clicks: eb.ref('counted.clicks'),
      first_clicked_at: eb.ref('counted.first'),
      last_clicked_at: eb.ref('counted.last'),
    }))
    .where('links.email_id', '=', slot('emailId'))
    .where('links.workspace_id', '=', slot('workspaceId'))
    .whereRef('links.url', '=', 'counted.url'),
)

/** Sets the first click to the earliest click of a person that is left. */
export const resetClicked = prepareWrite<EmailKey>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set((eb) => ({
      clicked_at: eb
        .selectFrom('events')
        .select((inner) => inner.fn.min<number | null>(clickedAt()).as('first'))
        .where('email_id', '=', slot('emailId'))
        .where('workspace_id', '=', slot('workspaceId'))
        .where(isClickOfPerson()),
    }))
    .where('id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)
