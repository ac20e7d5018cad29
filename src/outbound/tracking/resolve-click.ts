/**
 * Finds the URL that a request for a tracked link leads to.
 *
 * The id of the path names a link, or, with `url`, an email of which that URL is a link. A `url` is followed only when
 * it is the stored URL of a link of the same email, or of its broadcast, or when a token says that we wrote it into this
 * message: no request can redirect to a URL that the sender did not put into the message.
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
  /** The query's `url`; null: it has none. */
  readonly url: string | null
  /** Its `tid`: the token of a link with variables. */
  readonly token: string | null
  /** Its `bid`. */
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

/** Null: there is no such link. */
export function resolveClick(deps: ResolveDeps, request: ClickRequest): ClickTarget | null {
  return isBroadcastEmailId(request.trackingId) ? resolveOfBroadcast(deps, request) : resolveOfEmail(deps.read, request)
}

function resolveOfBroadcast({ read, secret }: ResolveDeps, request: ClickRequest): ClickTarget | null {
  const { trackingId: emailId, url, token, broadcastId } = request
  if (url === null) return null
  const id = findBroadcastLink(read, secret, { emailId, url, token, broadcastId })
  return id === null ? null : toTarget({ id, email_id: emailId, url })
}

function resolveOfEmail(read: Read, { trackingId, url }: ClickRequest): ClickTarget | null {
  if (!isLinkId(trackingId) && !isEmailId(trackingId)) return null
  const [named] = linkById(read, { id: trackingId })
  if (url === null || named?.url === url) return named === undefined ? null : toTarget(named)
  const [other] = linkOfEmail(read, { emailId: named?.email_id ?? trackingId, url })
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

/** An absolute HTTP URL of visible ASCII characters. */
const plainUrl = /^https?:\/\/[!-~]+$/i

/**
 * The URL as it may stand in a header field: as stored if it is plain; otherwise as browsers normalize it, without
 * control characters and with all others encoded. Null: it is no URL of the web.
 */
export function toLocation(url: string): string | null {
  if (plainUrl.test(url)) return url
  if (!URL.canParse(url)) return null
  const { protocol, href } = new URL(url)
  return protocol === 'http:' || protocol === 'https:' ? href : null
}
