/** What recording needs of an email, and what it changes of it. */
import { sql } from 'kysely'
import { prepareRead, prepareWrite } from '../storage/prepared.js'

/** Recipients of an email that are looked at for its latest delivery. */
const MAX_RECIPIENTS = 100

/** In any workspace: the id of an email is the secret of its pixel, as that of a link is of the link. */
export const trackedEmailById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'workspace_id', 'track_opens', 'track_clicks', 'tracking_skipped', 'opened_at', 'clicked_at'])
    .select((eb) => [
      eb
        .selectFrom('recipients')
        .select('address')
        .whereRef('recipients.email_id', '=', 'emails.id')
        .where('recipients.status', '<>', 'suppressed')
        .orderBy('recipients.id')
        .limit(1)
        .as('recipient'),
      eb
        .selectFrom(
          eb
            .selectFrom('recipients')
            .select('delivered_at')
            .whereRef('recipients.email_id', '=', 'emails.id')
            .limit(MAX_RECIPIENTS)
            .as('some'),
        )
        .select((inner) => inner.fn.max<number | null>('some.delivered_at').as('latest'))
        .as('delivered_at'),
      eb
        .exists(
          eb
            .selectFrom('queue')
            .select('queue.id')
            .whereRef('queue.email_id', '=', 'emails.id')
            .where('queue.leased', '=', 1),
        )
        .$castTo<number>()
        .as('leased'),
    ])
    .where('id', '=', slot('id')),
)

export type TrackedEmail = ReturnType<typeof trackedEmailById>[number]

interface Moment {
  workspaceId: string
  id: string
  at: number
}

/** By a person, the first time. */
export const markOpened = prepareWrite<Moment>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set({ opened_at: slot('at') })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('opened_at', 'is', null),
)

/** By a person, the first time. */
export const markClicked = prepareWrite<Moment>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set({ clicked_at: slot('at') })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('clicked_at', 'is', null),
)

interface EmailKey {
  workspaceId: string
  emailId: string
}

/** When the click was made: the log's own time may be later. */
const clickedAt = sql<number>`cast(round(unixepoch(json_extract(events.data, '$.clicked_at'), 'subsec') * 1000) as integer)`
const clickedUrl = sql<string>`json_extract(events.data, '$.url')`
const isClickOfPerson = sql<boolean>`events.type = 'email.clicked' and json_extract(events.data, '$.machine') = 0`

/** This click was a machine's. */
export const markMachineClick = prepareWrite<EmailKey & { eventId: string }>(({ db, slot }) =>
  db
    .updateTable('events')
    .set({ data: sql`json_set(data, '$.machine', json('true'))` })
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('type', '=', 'email.clicked')
    .where('id', '=', slot('eventId')),
)

/** Before `recountClicks`, which finds only the links that persons have clicked. */
export const clearClicks = prepareWrite<EmailKey>(
  ({ db, slot }) =>
    db
      .updateTable('links')
      .set({ clicks: 0, first_clicked_at: null, last_clicked_at: null })
      .where('email_id', '=', slot('emailId'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where(sql<boolean>`clicks > 0`), // a literal, as the partial index has it
)

/** Counts again what the events have of the links of an email. */
export const recountClicks = prepareWrite<EmailKey>(({ db, slot }) =>
  db
    .updateTable('links')
    .from((eb) =>
      eb
        .selectFrom('events')
        .select((inner) => [
          clickedUrl.as('url'),
          inner.fn.countAll<number>().as('clicks'),
          inner.fn.min<number>(clickedAt).as('first'),
          inner.fn.max<number>(clickedAt).as('last'),
        ])
        .where('email_id', '=', slot('emailId'))
        .where('workspace_id', '=', slot('workspaceId'))
        .where(isClickOfPerson)
        .groupBy(clickedUrl)
        .as('counted'),
    )
    .set((eb) => ({
      clicks: eb.ref('counted.clicks'),
      first_clicked_at: eb.ref('counted.first'),
      last_clicked_at: eb.ref('counted.last'),
    }))
    .where('links.email_id', '=', slot('emailId'))
    .whereRef('links.url', '=', 'counted.url'),
)

/** The first click of a person that is left. */
export const resetClicked = prepareWrite<EmailKey>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set((eb) => ({
      clicked_at: eb
        .selectFrom('events')
        .select((inner) => inner.fn.min<number | null>(clickedAt).as('first'))
        .where('email_id', '=', slot('emailId'))
        .where('workspace_id', '=', slot('workspaceId'))
        .where(isClickOfPerson),
    }))
    .where('id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)
