/**
 * Finds and counts the links of broadcasts for clicks. URLs without variables are stored once for a broadcast; a URL
 * with variables has a token in each message. Both work as long as the record of the message is stored,
 * `retention.links`.
 */
import { createHash, type KeyObject } from 'node:crypto'
import { isClickToken } from '../../base/mail/click-token.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { broadcastOfEmail } from '../../records/messages/broadcast-recipients.js'

interface BroadcastClick {
  readonly emailId: string
  readonly url: string
  /** Null, like `broadcastId`, if the request has none. */
  readonly token: string | null
  readonly broadcastId: string | null
}

/** All links with variables count as one link in the search for sweeps, which counts only the others. */
const OWN_LINK = 'own'

/**
 * Returns what stands for the id of the link, or null if the email is no message of a broadcast with this link. If
 * `broadcastId` is given, the email must belong to that broadcast.
 */
export async function findBroadcastLink(read: Read, secret: KeyObject, click: BroadcastClick): Promise<string | null> {
  const { emailId, url, token, broadcastId } = click
  const [message] = await broadcastOfEmail(read, { emailId })
  if (message === undefined) return null
  const { broadcast_id: id } = message
  if (broadcastId !== null && broadcastId !== id) return null
  const name = nameBroadcastLink(url)
  if ((await linkOfBroadcast(read, { broadcastId: id, name })).length > 0) return name
  return token !== null && isClickToken(secret, { emailId, url, token }) ? OWN_LINK : null
}

const linkOfBroadcast = prepareRead<{ broadcastId: string; name: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_links')
    .select('broadcast_id')
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('url_key', '=', slot('name')),
)

/** Counts the links without variables. */
export const countBroadcastLinks = prepareRead<{ broadcastId: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_links')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('broadcast_id', '=', slot('broadcastId')),
)

/** Names a link by a short text, however long its URL is. The key of its row is this name. */
export function nameBroadcastLink(url: string): string {
  return createHash('sha256').update(url).digest('base64url')
}
