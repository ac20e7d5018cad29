/** Stores one row for each recipient of an email: its status, and the result of the last attempt. */
import type { Insertable, Selectable } from 'kysely'
import type { Reason } from '../../../base/mail/reasons.js'
import { prepareInsert, prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

export type Recipient = Selectable<Tables['recipients']>

type RecipientRow = Required<
  Pick<
    Insertable<Tables['recipients']>,
    'id' | 'email_id' | 'workspace_id' | 'address' | 'domain' | 'status' | 'notify' | 'orcpt' | 'created_at'
  >
>

export const insertRecipient = prepareInsert<RecipientRow>(({ db, slot }) =>
  db.insertInto('recipients').values({
    id: slot('id'),
    email_id: slot('email_id'),
    workspace_id: slot('workspace_id'),
    address: slot('address'),
    domain: slot('domain'),
    status: slot('status'),
    notify: slot('notify'),
    orcpt: slot('orcpt'),
    created_at: slot('created_at'),
  }),
)

/** The result of an attempt. */
interface AttemptUpdate {
  readonly id: string
  readonly status: RecipientStatus
  readonly attempts: number
  readonly lastResponse: string
  readonly reason: Reason | null
  readonly mx: string | null
  readonly transcript: string
  readonly deliveredAt: number | null
  readonly settledAt: number | null
}

export const markAttempt = prepareWrite<AttemptUpdate>(({ db, slot }) =>
  db
    .updateTable('recipients')
    .set({
      status: slot('status'),
      attempts: slot('attempts'),
      last_response: slot('lastResponse'),
      reason: slot('reason'),
      mx: slot('mx'),
      transcript: slot('transcript'),
      delivered_at: slot('deliveredAt'),
      settled_at: slot('settledAt'),
    })
    .where('id', '=', slot('id')),
)

/** Changes a recipient's status without an attempt. Misses if the status is no longer `from`. */
export const changeRecipientStatus = prepareWrite<{
  id: string
  from: RecipientStatus
  to: RecipientStatus
  reason: Reason | null
  settledAt: number | null
}>(
  ({ db, slot }) =>
    db
      .updateTable('recipients')
      .set({ status: slot('to'), reason: slot('reason'), settled_at: slot('settledAt') })
      .where('id', '=', slot('id'))
      .where('status', '=', slot('from')),
  1,
)

/** Stores the result of a report after the last attempt. Misses if the status is no longer `from`. */
export const markReported = prepareWrite<{
  id: string
  workspaceId: string
  from: RecipientStatus
  to: RecipientStatus
  lastResponse: string | null
  reason: Reason | null
  deliveredAt: number | null
  settledAt: number | null
}>(
  ({ db, slot }) =>
    db
      .updateTable('recipients')
      .set({
        status: slot('to'),
        last_response: slot('lastResponse'),
        reason: slot('reason'),
        delivered_at: slot('deliveredAt'),
        settled_at: slot('settledAt'),
      })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', slot('from')),
  1,
)

/** Counts the recipient as one that complained, whatever its status is. */
export const markRecipientComplained = prepareWrite<{ id: string; workspaceId: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('recipients')
    .set({ complained_at: slot('at') })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('complained_at', 'is', null),
)

/** Clears the request for a success notification after it was sent. Misses if the requests have changed. */
export const updateNotify = prepareWrite<{ id: string; workspaceId: string; notify: string; left: string }>(
  ({ db, slot }) =>
    db
      .updateTable('recipients')
      .set({ notify: slot('left') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('notify', '=', slot('notify')),
  1,
)

/** Releases the recipients of a scheduled email whose time has come. */
export const releaseRecipients = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db
    .updateTable('recipients')
    .set({ status: 'queued' })
    .where('email_id', '=', slot('emailId'))
    .where('status', '=', 'scheduled'),
)

export const recipientsOfEmail = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('recipients')
    .selectAll()
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('id'),
)

/** Reads a recipient of any workspace, for the holder of a token that was made for only this recipient. */
export const recipientOfAnyWorkspace = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('recipients').selectAll().where('id', '=', slot('id')),
)

/** The requests of RFC 3461, as the client gave them. They never change while the recipient is in the queue. */
export type DsnRequest = Pick<Recipient, 'notify' | 'orcpt'>

/** What delivery needs of a recipient beyond its queue entry. */
export const dsnRequestById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('recipients').select(['notify', 'orcpt', 'status']).where('id', '=', slot('id')),
)
