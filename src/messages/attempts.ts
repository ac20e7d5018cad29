/** The history of attempts: never changed, read by `explain` and the API. */
import type { Insertable } from 'kysely'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import type { Tables } from '../storage/tables.js'

export type NewAttempt = Required<Omit<Insertable<Tables['attempts']>, 'seq'>>

export const insertAttempt = prepareWrite<NewAttempt>(({ db, slot }) =>
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
    outcome: slot('outcome'),
    reason: slot('reason'),
    response: slot('response'),
    next_attempt_at: slot('next_attempt_at'),
  }),
)

export const attemptsOfEmail = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('attempts')
    .selectAll()
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('seq')
    .limit(1000),
)

/** Has any server answered for this recipient in an earlier attempt? Decides bounced or failed at expiry. */
export const reachedBefore = prepareRead<{ emailId: string; recipientId: string }>()(({ db, slot }) =>
  db
    .selectFrom('attempts')
    .select('seq')
    .where('email_id', '=', slot('emailId'))
    .where('recipient_id', '=', slot('recipientId'))
    .where('address', 'is not', null)
    .where('outcome', '=', 'deferred')
    .limit(1),
)

/** The oldest attempt that is kept. */
export const oldestAttempt = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('attempts').select(['seq', 'at']).orderBy('seq').limit(1),
)

/** Removes attempts from before `before` up to `seq`, so that no step walks the whole table. */
export const removeOldAttempts = prepareWrite<{ before: number; seq: number }>(({ db, slot }) =>
  db.deleteFrom('attempts').where('seq', '<=', slot('seq')).where('at', '<', slot('before')),
)
