/**
 * Stores the messages of single recipients, where the recipients of an email get different bytes. What they have in
 * common with the message of the first recipient is stored once.
 */
import { sql } from 'kysely'
import type { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import { orLost } from '../../../base/storage/db/write.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { HEAD_BYTES, readHead } from './raw-message.js'

/** A message with `bytes` between the first `prefix` and the last `suffix` bytes of another one. */
export interface RecipientCopy {
  readonly prefix: number
  readonly suffix: number
  readonly bytes: Buffer
}

type NewCopy = Omit<Tables['recipient_copies'], 'bytes' | 'signature'> & { readonly bytes: Buffer | MessageBytes }

export const insertCopy = prepareWrite<NewCopy>(({ db, slot }) =>
  db.insertInto('recipient_copies').values({
    recipient_id: slot('recipient_id'),
    email_id: slot('email_id'),
    workspace_id: slot('workspace_id'),
    created_at: slot('created_at'),
    prefix: slot('prefix'),
    suffix: slot('suffix'),
    bytes: sql<Buffer>`${slot('bytes')}`,
    signature: null,
  }),
)

interface CopyKey {
  readonly workspaceId: string
  readonly recipientId: string
}

export const copyOfRecipient = prepareRead<CopyKey>()(({ db, slot }) =>
  db
    .selectFrom('recipient_copies')
    .select(['prefix', 'suffix', 'bytes', 'signature'])
    .where('recipient_id', '=', slot('recipientId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Returns the size without reading the bytes. */
export const sizeOfCopies = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('recipient_copies')
    .select(sql<number>`coalesce(sum(length(bytes)), 0)`.as('bytes'))
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Stores a signature, unless there is one already. */
export const signCopy = prepareWrite<CopyKey & { field: string }>(({ db, slot }) =>
  db
    .updateTable('recipient_copies')
    .set({ signature: slot('field') })
    .where('recipient_id', '=', slot('recipientId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('signature', 'is', null),
)

/** Reads the first recipient of an email, who gets the message itself. */
export const firstRecipientOfEmail = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('recipients')
    .select('id')
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('id')
    .limit(1),
)

/** Returns pieces that share the memory of `raw`. */
export function copyToPieces(raw: Buffer, { prefix, suffix, bytes }: RecipientCopy): readonly Buffer[] {
  return [raw.subarray(0, prefix), bytes, raw.subarray(raw.length - suffix)]
}

interface MessageRef extends CopyKey {
  readonly emailId: string
}

/**
 * Returns the first `HEAD_BYTES` of the message of one recipient, for a notice about it. Empty if they are no longer
 * stored, or are lost. A copy is as long as the message.
 */
export async function headOfRecipient(read: Read, { workspaceId, emailId, recipientId }: MessageRef): Promise<Buffer> {
  const stored = await orLost(() => readHead(read, { workspaceId, emailId }))
  const head = stored instanceof Buffer ? stored : Buffer.alloc(0)
  const [copy] = head.length === 0 ? [] : await copyOfRecipient(read, { workspaceId, recipientId })
  if (copy === undefined) return head
  const { prefix, bytes } = copy
  const pieces = [head.subarray(0, prefix), bytes, head.subarray(prefix + bytes.length)]
  return Buffer.concat(pieces).subarray(0, HEAD_BYTES)
}
