/**
 * Finds the bytes that one recipient gets, and signs them: the bytes of the email, or of the recipient's own copy.
 *
 * A copy shares the memory of what it has in common with the message of the first recipient. It is joined only for its
 * signature. Large copies are joined one after the other, so that only one of them is in memory as a whole at a time.
 */

import { domainOf } from '../../../base/mail/address.js'
import { concatInSteps } from '../../../base/platform/memory/byte-pieces.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { insertSignature } from '../../../records/messages/email/raw-message.js'
import {
  copyOfRecipient,
  copyToPieces,
  firstRecipientOfEmail,
  signCopy,
} from '../../../records/messages/email/recipient-copies.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import { isPassedOn } from '../../../records/messages/service-email.js'
import type { SigningKeyCache } from '../../../workspaces/domains/dkim/signing-keys.js'
import type { SigningThread } from '../../../workspaces/domains/dkim/signing-thread.js'
import type { CachedCopy, CachedMessage, SignedBytes } from '../queue/message-cache.js'

export interface OwnMessage {
  readonly pieces: readonly Buffer[]
  readonly readRaw: () => Buffer
  readonly signed: SignedBytes
  readonly storeSignature: (field: string, at: number) => Write
}

export interface SignDeps {
  readonly signingKeys: Pick<SigningKeyCache, 'find'>
  readonly signing: Pick<SigningThread, 'sign'>
}

/** Throws if the recipient's copy is missing, so that the recipient never gets the message of another one. */
export async function findOwnMessage(read: Read, message: CachedMessage, entry: QueueEntry): Promise<OwnMessage> {
  const { email, raw } = message
  const { id: recipientId, email_id, workspace_id } = entry
  const copy = email.has_copies === 1 ? await findCopy(read, message, entry) : null
  if (copy === null) {
    return {
      pieces: [raw],
      readRaw: () => raw,
      signed: message,
      storeSignature: (field, created_at) => insertSignature({ email_id, workspace_id, created_at, field }),
    }
  }
  const pieces = copyToPieces(raw, copy)
  return {
    pieces,
    readRaw: () => Buffer.concat(pieces),
    signed: copy,
    storeSignature: (field) => signCopy({ workspaceId: workspace_id, recipientId, field }),
  }
}

/** Returns null if the recipient gets the message itself. */
async function findCopy(read: Read, { copies }: CachedMessage, entry: QueueEntry): Promise<CachedCopy | null> {
  const known = copies.get(entry.id)
  if (known !== undefined) return known
  const { workspace_id: workspaceId, email_id: emailId, id: recipientId } = entry
  const [row] = await copyOfRecipient(read, { workspaceId, recipientId })
  if (row === undefined) {
    if ((await firstRecipientOfEmail(read, { workspaceId, emailId }))[0]?.id === recipientId) return null
    throw new Error('a recipient has no copy of its message')
  }
  const { prefix, suffix, bytes, signature } = row
  const signed = signature === null ? { isSignatureStored: false } : storedSignature(signature)
  const copy = { prefix, suffix, bytes, ...signed }
  copies.set(recipientId, copy)
  return copy
}

function storedSignature(field: string): SignedBytes {
  return { signature: Promise.resolve(field), isSignatureStored: true }
}

/** Signs the message once. If that fails, the next attempt tries again. Resolves to null if no key signs for it. */
export async function ensureSignature(
  deps: SignDeps,
  message: CachedMessage,
  own: OwnMessage,
  now: number,
): Promise<string | null> {
  const { signed } = own
  const signature = signed.signature ?? signMessage(deps, message, own, now)
  signed.signature = signature
  try {
    return await signature
  } catch (error) {
    if (signed.signature === signature) signed.signature = undefined
    throw error
  }
}

/** From this many bytes on, the copies of a message are signed one after the other. */
const LARGE_MESSAGE = 262_144

async function signMessage(
  { signingKeys, signing }: SignDeps,
  message: CachedMessage,
  { readRaw, signed, pieces }: OwnMessage,
  now: number,
): Promise<string | null> {
  const { email, raw } = message
  const key = isPassedOn(email) ? undefined : await signingKeys.find(email.workspace_id, domainOf(email.from_email))
  if (key === undefined) return null
  const isBulk = email.broadcast_id !== null
  if (signed === message || raw.length < LARGE_MESSAGE) return signing.sign(readRaw(), key, now, isBulk)
  const earlier = message.lastSigned ?? Promise.resolve()
  const signature = earlier.then(async () => signing.sign(await concatInSteps(pieces), key, now, isBulk))
  message.lastSigned = signature.then(doNothing, doNothing)
  return signature
}

function doNothing(): void {}
