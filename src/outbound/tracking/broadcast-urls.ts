/**
 * The URLs and the pixel of messages of broadcasts. A link has no id: its URL names the email, the target and the
 * broadcast, so that the same text serves all recipients.
 */
import { buildPixelOf } from './tracked-urls.js'

interface BroadcastEmail {
  /** The URL, without a trailing slash. */
  readonly base: string
  readonly emailId: string
  readonly broadcastId: string
}

/** `token` names a target that only this email has (`mail/click-token.ts`). Null for a target of the broadcast. */
export function buildBroadcastClickUrl(
  { base, emailId, broadcastId }: BroadcastEmail,
  target: string,
  token: string | null,
): string {
  const proof = token === null ? '' : `&tid=${token}`
  return `${base}/v1/track/click/${emailId}?url=${encodeURIComponent(target)}&bid=${broadcastId}${proof}`
}

export function buildBroadcastPixel({ base, emailId, broadcastId }: BroadcastEmail): string {
  return buildPixelOf(`${base}/v1/track/open/${emailId}?bid=${broadcastId}`)
}

/** Returns where a link of this email leads, or null if it is no such link. */
export function targetOfBroadcastUrl(href: string, emailId: string): string | null {
  const start = `/v1/track/click/${emailId}?url=`
  const at = href.indexOf(start)
  const end = href.indexOf('&bid=', at)
  return at === -1 || end === -1 ? null : decodeTarget(href.slice(at + start.length, end))
}

function decodeTarget(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** `src` is the value of the first `src` of an `img`; `markup` is that tag as written. */
export function isBroadcastPixel(src: string, markup: string, emailId: string): boolean {
  return src.includes(`/v1/track/open/${emailId}?bid=`) && markup === buildPixelOf(src)
}
