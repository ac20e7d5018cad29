/**
 * Finds the URL to which a request for a tracked link leads.
 *
 * The id in the path names a link, or, with `url`, an email of which that URL is a link. A `url` is followed only if it
 * is the stored URL of a link of the same email or of its broadcast, or if a token proves that this server wrote it
 * into this message. So no request can redirect to a URL that the sender did not put into the message.
 */
import type { KeyObject } from 'node:crypto'
import type { Read } from '../../base/storage/db/prepared.js'
import { findBroadcastLink } from './broadcast-links.js'
import { linkOfEmail } from './clicked-links.js'
import { isBroadcastEmailId, isEmailId } from './hit.js'
import { isLinkId } from './link-id.js'
import { linkById } from './links.js'

interface ClickRequest {
  readonly trackingId: string
  /** The `url` of the query. Null if it has none. */
  readonly url: string | null
  /** The `tid` of the query: the token of a link with variables. */
  readonly token: string | null
  /** The `bid` of the query. */
  readonly broadcastId: string | null
}

interface ResolveDeps {
  readonly read: Read
  /** The key that signs the tokens of links. */
  readonly secret: KeyObject
}

interface ClickTarget {
  readonly linkId: string
  readonly emailId: string
  /** The URL as it is stored. */
  readonly url: string
  /** The URL as a value of the header field Location. */
  readonly location: string
}

/** Returns null if there is no such link. */
export async function resolveClick(deps: ResolveDeps, request: ClickRequest): Promise<ClickTarget | null> {
  return isBroadcastEmailId(request.trackingId)
    ? await resolveOfBroadcast(deps, request)
    : await resolveOfEmail(deps.read, request)
}

async function resolveOfBroadcast({ read, secret }: ResolveDeps, request: ClickRequest): Promise<ClickTarget | null> {
  const { trackingId: emailId, url, token, broadcastId } = request
  if (url === null) return null
  const id = await findBroadcastLink(read, secret, { emailId, url, token, broadcastId })
  return id === null ? null : toTarget({ id, email_id: emailId, url })
}

async function resolveOfEmail(read: Read, { trackingId, url }: ClickRequest): Promise<ClickTarget | null> {
  if (!isLinkId(trackingId) && !isEmailId(trackingId)) return null
  const [named] = await linkById(read, { id: trackingId })
  if (url === null || named?.url === url) return named === undefined ? null : toTarget(named)
  const [other] = await linkOfEmail(read, { emailId: named?.email_id ?? trackingId, url })
  const link = other ?? named
  return link === undefined ? null : toTarget(link)
}

interface FoundLink {
  readonly id: string
  readonly email_id: string
  readonly url: string
}

function toTarget({ id, email_id: emailId, url }: FoundLink): ClickTarget | null {
  const location = toLocation(url)
  return location === null ? null : { linkId: id, emailId, url, location }
}

/** Matches an absolute HTTP URL of visible ASCII characters. */
const plainUrl = /^https?:\/\/[!-~]+$/i

/**
 * Returns the URL as it may stand in a header field: as stored if it is plain, else as browsers normalize it, without
 * control characters and with all others encoded. Returns null if it is no HTTP URL.
 */
export function toLocation(url: string): string | null {
  if (plainUrl.test(url)) return url
  if (!URL.canParse(url)) return null
  const { protocol, href } = new URL(url)
  return protocol === 'http:' || protocol === 'https:' ? href : null
}
