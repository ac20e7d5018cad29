/**
 * Builds the bytes of a broadcast's message from its frame and its values each time they are read. The frames that were
 * used last stay in memory, because all messages of a broadcast share one frame.
 */
import { createLruCache, type LruCache } from '../../../base/platform/lru-cache.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { decodeFrame } from './encode-frame.js'
import { buildFramed, type MessageFrame } from './message-frame.js'

interface EmailKey {
  readonly workspaceId: string
  readonly emailId: string
}

const MAX_FRAMES = 8
const PREFIX = 'bc-'

/** Tells whether the id is that of a broadcast's message. */
export function isFramed(emailId: string): boolean {
  return emailId.startsWith(PREFIX)
}

const slotsOfEmail = prepareRead<EmailKey>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages')
    .select(['broadcast_id', 'slots'])
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

const frameOfBroadcast = prepareRead<{ workspaceId: string; broadcastId: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_frames')
    .select('frame')
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Reads the size without building the message. There is no row if its bytes are no longer stored. */
const sizeOfEmail = prepareRead<EmailKey>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages')
    .innerJoin('emails', 'emails.id', 'broadcast_messages.email_id')
    .select('emails.size')
    .where('broadcast_messages.email_id', '=', slot('emailId'))
    .where('broadcast_messages.workspace_id', '=', slot('workspaceId'))
    .where('broadcast_messages.slots', 'is not', null),
)

/** Removes the values that only this message has. Its row stays for its links. */
export const removeSlots = prepareWrite<{ emailId: string }>(({ db, slot }) =>
  db
    .updateTable('broadcast_messages')
    .set({ slots: null })
    .where('email_id', '=', slot('emailId'))
    .where('slots', 'is not', null),
)

/** Returns undefined if the message is no longer stored. */
export async function framedRawOf(read: Read, key: EmailKey): Promise<Buffer | undefined> {
  const [row] = await slotsOfEmail(read, key)
  if (row?.slots == null) return undefined
  const frame = await findFrame(read, key.workspaceId, row.broadcast_id)
  return frame === undefined ? undefined : buildFramed(frame, parseJson(row.slots))
}

/** Returns 0 if the message is no longer stored. */
export async function sizeOfFramedEmail(read: Read, key: EmailKey): Promise<number> {
  return (await sizeOfEmail(read, key))[0]?.size ?? 0
}

/** The frames by the connection that read them. */
const framesOf = new WeakMap<Read, LruCache<MessageFrame>>()

export async function findFrame(
  read: Read,
  workspaceId: string,
  broadcastId: string,
): Promise<MessageFrame | undefined> {
  const frames = framesOf.get(read) ?? createLruCache<MessageFrame>({ max: MAX_FRAMES })
  framesOf.set(read, frames)
  const key = `${workspaceId} ${broadcastId}`
  const known = frames.get(key)
  if (known !== undefined) return known
  const [row] = await frameOfBroadcast(read, { workspaceId, broadcastId })
  if (row === undefined) return undefined
  const frame = decodeFrame(row.frame)
  frames.set(key, frame)
  return frame
}
