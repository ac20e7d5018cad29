/**
 * Stores the bytes of a message, their DKIM signature, and other data about the bytes.
 *
 * The signature is made once, at the first attempt, and stored: every attempt and every recipient gets the same bytes,
 * and what was sent can be shown later.
 */
import { sql } from 'kysely'
import { joinBytes } from '../../../base/storage/db/dialect.js'
import type { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import {
  type PieceAt,
  readStoredBytes,
  storedBytes,
  storedHead,
  storedPiece,
  storedPlace,
  storedSize,
} from '../../../base/storage/spool/stored-bytes.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { framedRawOf, isFramed, sizeOfFramedEmail } from '../frames/framed-message.js'

type RawKey = Pick<Tables['raw_messages'], 'email_id' | 'workspace_id' | 'created_at'>

/** The writer may put the bytes, which are the last value, into a spool file. */
export const insertRaw = prepareWrite<RawKey & { readonly raw: Buffer | MessageBytes }>(({ db, slot }) =>
  db.insertInto('raw_messages').values({
    email_id: slot('email_id'),
    workspace_id: slot('workspace_id'),
    created_at: slot('created_at'),
    raw: sql<Buffer>`${slot('raw')}`,
  }),
)

/**
 * Copies the bytes of a stored inbound message from `start` (the first byte is 1), with fields put on top, as the bytes
 * of an email. The writer copies them in the database, so they do not pass through the main thread. Misses if they are
 * gone.
 */
export const copyInboundRaw = prepareWrite<
  RawKey & {
    readonly fields: string
    readonly start: number
    readonly inboundId: string
    readonly inboundWorkspaceId: string
  }
>(
  ({ db, slot }) =>
    db
      .insertInto('raw_messages')
      .columns(['email_id', 'workspace_id', 'created_at', 'raw'])
      .expression(
        db
          .selectFrom('inbound_raw')
          .select((eb) => [
            eb.val(slot('email_id')).as('email_id'),
            eb.val(slot('workspace_id')).as('workspace_id'),
            eb.val(slot('created_at')).as('created_at'),
            joinBytes(slot('fields'), storedBytes(), slot('start')).as('raw'),
          ])
          .where('inbound_id', '=', slot('inboundId'))
          .where('workspace_id', '=', slot('inboundWorkspaceId')),
      ),
  1,
)

/** Stores a signature, unless there is one already. */
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

interface EmailKey {
  readonly workspaceId: string
  readonly emailId: string
}

/** Returns the bytes, or undefined if they are no longer stored. The bytes of a broadcast's message are built here. */
export async function readRaw(read: Read, key: EmailKey): Promise<Buffer | undefined> {
  return isFramed(key.emailId) ? await framedRawOf(read, key) : (await rawOfEmail(read, key))[0]?.raw
}

/** Does what `readRaw` does without blocking the thread: 10 MB would block it for some tens of milliseconds. */
export async function readLargeRaw(read: Read, key: EmailKey): Promise<Buffer | undefined> {
  return isFramed(key.emailId)
    ? await framedRawOf(read, key)
    : readStoredBytes(read, key, { place: placeOfRaw, bytes: rawOfEmail, piece: pieceOfRaw })
}

/** The most bytes of a message that `readHead` reads. */
export const HEAD_BYTES = 65_536

/** Returns the first bytes of a message, which may be large, or undefined if they are no longer stored. */
export async function readHead(read: Read, key: EmailKey): Promise<Buffer | undefined> {
  return isFramed(key.emailId)
    ? (await framedRawOf(read, key))?.subarray(0, HEAD_BYTES)
    : (await headOfEmail(read, key))[0]?.head
}

const headOfEmail = prepareRead<EmailKey>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages')
    .select(storedHead(HEAD_BYTES).as('head'))
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Returns the number of bytes without reading them. 0 if they are no longer stored. */
export async function sizeOfMessage(read: Read, key: EmailKey): Promise<number> {
  return isFramed(key.emailId) ? await sizeOfFramedEmail(read, key) : ((await placeOfRaw(read, key))[0]?.size ?? 0)
}

const rawOfEmail = prepareRead<EmailKey>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages')
    .select(storedBytes().as('raw'))
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

const pieceOfRaw = prepareRead<EmailKey & PieceAt>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages')
    .select(storedPiece(slot('at')).as('raw'))
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

const placeOfRaw = prepareRead<EmailKey>()(({ db, slot }) =>
  db
    .selectFrom('raw_messages')
    .select([...storedPlace, storedSize().as('size')])
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export const signatureOfEmail = prepareRead<EmailKey>()(({ db, slot }) =>
  db
    .selectFrom('dkim_signatures')
    .select('field')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export const removeRaw = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db.deleteFrom('raw_messages').where('email_id', '=', slot('emailId')),
)

/** Does nothing while an entry of the email is in the queue. */
export const removeSettledRaw = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db
    .deleteFrom('raw_messages')
    .where('email_id', '=', slot('emailId'))
    .where((eb) =>
      eb.not(
        eb.exists(eb.selectFrom('queue').select('queue.id').whereRef('queue.email_id', '=', 'raw_messages.email_id')),
      ),
    ),
)

export const removeSignature = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db.deleteFrom('dkim_signatures').where('email_id', '=', slot('emailId')),
)

/** Removes the data that restores the submitted HTML from the bytes. */
export const removeHtmlEdits = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db.deleteFrom('html_edits').where('email_id', '=', slot('emailId')),
)

/** Removes the bytes of recipients other than the first, where they differ. */
export const removeRecipientCopies = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db.deleteFrom('recipient_copies').where('email_id', '=', slot('emailId')),
)
