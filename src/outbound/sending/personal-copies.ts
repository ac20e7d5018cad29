/**
 * Makes the messages of the recipients of an email that has an unsubscribe link. Each recipient has a different link,
 * so different bytes. A *copy* is the message of one recipient, where the recipients of an email get different bytes.
 *
 * Copies are prepared as a plan, whose size is known, and written in steps when the email is stored: fifty copies of
 * some hundred kilobytes take longer than one turn of the event loop may.
 */
import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../../base/mail/refusal.js'
import { MessageBytes, MOVE_FROM_BYTES } from '../../base/storage/db/message-bytes.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Email } from '../../records/messages/email/email.js'
import { insertCopy, type RecipientCopy } from '../../records/messages/email/recipient-copies.js'
import { type CopyFrame, copySizeOf, type EncodedBody, findCopyFrame, writeCopy } from './token-places.js'
import type { UnsubscribeLinks } from './unsubscribe-links.js'

/** 32 MB: the most bytes that the copies of one email do not share with the first recipient's message. */
const MAX_COPIES = 32 * 1_048_576
/** 1 MB: the most encoded bytes of text and HTML in an email with copies. They are searched and copied as a whole. */
const MAX_COPIED_BODIES = 1_048_576
/** Bytes that are copied in one turn of the event loop. */
const STEP_BYTES = 524_288

/** The additional content of an email with an unsubscribe link. */
export interface PersonalContent {
  readonly bodies: readonly EncodedBody[]
  readonly links: Pick<UnsubscribeLinks, 'tokenOf'>
}

export interface CopyPlan {
  readonly raw: Buffer
  readonly frame: CopyFrame
  /** The ids of all recipients except the first, whose message is `raw`. */
  readonly recipientIds: readonly string[]
  /** The bytes of all copies. */
  readonly bytes: number
  readonly links: PersonalContent['links']
}

/**
 * Returns null if all recipients get the same bytes. Throws a Refusal `too-large`. Check `personal.bodies` with
 * `checkCopiedBodies` before.
 */
export function planCopies(
  raw: Buffer,
  { bodies, links }: PersonalContent,
  firstId: string,
  recipientIds: readonly string[],
): CopyPlan | null {
  if (recipientIds.length === 0) return null
  const frame = findCopyFrame(raw, bodies, links.tokenOf(firstId))
  if (frame === null) return null
  const bytes = copySizeOf(raw, frame) * recipientIds.length
  if (bytes > MAX_COPIES) {
    const message = `the messages of ${recipientIds.length + 1} recipients, each with its own unsubscribe link, have ${bytes} bytes of their own, allowed: ${MAX_COPIES}`
    throw new Refusal('too-large', message, { size: bytes, limit: MAX_COPIES })
  }
  return { raw, frame, recipientIds, bytes, links }
}

/** Throws a Refusal `too-large`. */
export function checkCopiedBodies(bodies: readonly EncodedBody[]): void {
  const size = bodies.reduce((sum, { startFromEnd, endFromEnd }) => sum + startFromEnd - endFromEnd, 0)
  if (size <= MAX_COPIED_BODIES) return
  const message = `html and text of an email with unsubscribe links have ${size} bytes encoded, allowed for several recipients: ${MAX_COPIED_BODIES}: send a request for each of them`
  throw new Refusal('too-large', message, { size, limit: MAX_COPIED_BODIES })
}

export interface WrittenCopies {
  readonly writes: readonly Write[]
  /** Copies by recipient id. Empty if they must be read back, because their memory is transferred to the writer. */
  readonly copies: ReadonlyMap<string, RecipientCopy>
}

export async function writeCopies(
  plan: CopyPlan,
  { id, workspace_id, created_at }: Pick<Email, 'id' | 'workspace_id' | 'created_at'>,
): Promise<WrittenCopies> {
  const { raw, frame, recipientIds, links } = plan
  const isMoved = plan.bytes >= MOVE_FROM_BYTES
  const memory = Buffer.allocUnsafeSlow(plan.bytes)
  const size = copySizeOf(raw, frame)
  const writes: Write[] = []
  const copies = new Map<string, RecipientCopy>()
  let copied = 0
  for (const [place, recipientId] of recipientIds.entries()) {
    const bytes = memory.subarray(place * size, (place + 1) * size)
    const copy = writeCopy(raw, frame, links.tokenOf(recipientId), bytes)
    const row = { recipient_id: recipientId, email_id: id, workspace_id, created_at, ...copy }
    writes.push(insertCopy({ ...row, bytes: isMoved ? MessageBytes.moved([bytes]) : bytes }))
    if (!isMoved) copies.set(recipientId, copy)
    copied += size
    if (copied < STEP_BYTES) continue
    copied = 0
    await setImmediate()
  }
  return { writes, copies }
}
