/**
 * The bytes of a message, and their DKIM signature.
 *
 * The signature is made once, at the first attempt, and stored: every attempt and every recipient gets the same
 * bytes, and what was sent can be shown later.
 */
import { sql } from 'kysely'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import type { Tables } from '../storage/tables/tables.js'
import type { MovedBytes } from '../storage/writer/write.js'

export const insertRaw = prepareWrite<Omit<Tables['raw_messages'], 'raw'> & { readonly raw: Buffer | MovedBytes }>(
  ({ db, slot }) =>
    db.insertInto('raw_messages').values({
      email_id: slot('email_id'),
      workspace_id: slot('workspace_id'),
      created_at: slot('created_at'),
      raw: sql<Buffer>`${slot('raw')}`,
    }),
)

/** The first signature stays. */
export const insertSignature = prepareWrite<Tables['dkim_signatures']>(({ db, slot }) =>
  db
    .insertInto('dkim_signatures')
    .values({
      email_id: slot('email_id'),
      workspace_id: slot('workspace_id'),
      created_at: slot('created_at'),
      field: slot('field'),
    })
    .onConflict((conflict) => conflict.column('email_id').doNothing()),
)

export const rawOfEmail = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages')
    .select('raw')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Does not read the bytes themselves. */
export const sizeOfRaw = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages')
    .select(sql<number>`length(raw)`.as('bytes'))
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export const signatureOfEmail = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('dkim_signatures')
    .select('field')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export const removeRaw = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db.deleteFrom('raw_messages').where('email_id', '=', slot('emailId')),
)

export const removeSignature = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db.deleteFrom('dkim_signatures').where('email_id', '=', slot('emailId')),
)
