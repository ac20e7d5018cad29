/** The history of attempts. It never changes, and `explain` and the API read it. */
import type { Insertable } from 'kysely'
import { prepareInsert, prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

export type NewAttempt = Required<Omit<Insertable<Tables['attempts']>, 'seq'>>

export const insertAttempt = prepareInsert<NewAttempt>(({ db, slot }) =>
  db.insertInto('attempts').values({
    workspace_id: slot('workspace_id'),
    email_id: slot('email_id'),
    recipient_id: slot('recipient_id'),
    number: slot('number'),
    at: slot('at'),
    duration: slot('duration'),
    mx: slot('mx'),
    address: slot('address'),
    tls: slot('tls'),
    reached: slot('reached'),
    outcome: slot('outcome'),
    reason: slot('reason'),
    response: slot('response'),
    next_attempt_at: slot('next_attempt_at'),
  }),
)

/** The most attempts that are read: those of fifty recipients with a hundred each. */
const MAX_ATTEMPTS = 5_000

export const attemptsOfEmail = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('attempts')
    .selectAll()
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('seq')
    .limit(MAX_ATTEMPTS),
)

/** Tells whether a server replied in an earlier attempt, which decides between bounced and failed at expiry. */
export const reachedAttempts = prepareRead<{ emailId: string; recipientId: string }>()(({ db, slot }) =>
  db
    .selectFrom('attempts')
    .select('seq')
    .where('email_id', '=', slot('emailId'))
    .where('recipient_id', '=', slot('recipientId'))
    .where('reached', '=', 1)
    .limit(1),
)

/** Removes the attempts together with the record of the email. */
export const removeAttempts = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db.deleteFrom('attempts').where('email_id', '=', slot('emailId')),
)
