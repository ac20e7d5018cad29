/** A request for a pixel or a tracked link that waits to be recorded. What the client sent in it is bounded. */
import type { Requester } from './machine.js'

interface HitCommon extends Requester {
  readonly emailId: string
  readonly at: number
}

interface OpenHit extends HitCommon {
  readonly kind: 'open'
}

export interface ClickHit extends HitCommon {
  readonly kind: 'click'
  /** The id of a link. For a link of a broadcast see `findBroadcastLink`. */
  readonly linkId: string
  readonly url: string
  readonly referer: string | null
}

export type Hit = OpenHit | ClickHit

const MAX_AGENT = 512
const MAX_REFERER = 2_048

export function boundAgent(text: string | undefined): string | null {
  return boundText(text, MAX_AGENT)
}

export function boundReferer(text: string | undefined): string | null {
  return boundText(text, MAX_REFERER)
}

/** Copies the text, because a slice of a long text would keep all of it in memory. */
function boundText(text: string | undefined, max: number): string | null {
  if (text === undefined || text === '') return null
  return text.length <= max ? text : Buffer.from(text.slice(0, max)).toString()
}

/** The bytes of a hit without its texts. */
const HIT_SIZE = 400

/** Returns about how many bytes a hit takes in memory. */
export function sizeOfHit(hit: Hit): number {
  const size = HIT_SIZE + (hit.userAgent?.length ?? 0)
  return hit.kind === 'open' ? size : size + hit.url.length + (hit.referer?.length ?? 0)
}

/** The form of an email's id. The id of a broadcast's message begins with `bc-`. */
export const emailIdForm = /^(?:bc-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isEmailId(text: string): boolean {
  return emailIdForm.test(text)
}

/** Tells whether the text has the form of the id of a broadcast's message. */
export function isBroadcastEmailId(id: string): boolean {
  return isEmailId(id) && id.startsWith('bc-')
}
