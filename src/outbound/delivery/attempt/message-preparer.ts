/**
 * Prepares the message of an entry for sending: bytes, signature, return path, and a reference field above the bytes,
 * by which complaints are recognized.
 *
 * A message is signed once, for its first recipient. The write that stores the signature is part of the commit of that
 * recipient's lease, before the host is called. An entry that was claimed when the message was accepted has no such
 * commit, so the write is part of the commit of its outcome. If recipients have different copies, each copy is signed
 * once (`own-message.ts`).
 */
import type { KeyObject } from 'node:crypto'
import { domainOf, needsUtf8 } from '../../../base/mail/address.js'
import { NO_NOTICE, parseNotify } from '../../../base/mail/dsn-parameters.js'
import { createForwardedSender } from '../../../base/mail/forwarded-sender.js'
import { createReferenceField, createReturnPath } from '../../../base/mail/recipient-token.js'
import { freeMemory } from '../../../base/platform/memory/free-memory.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { type Email, emailById } from '../../../records/messages/email/email.js'
import { readLargeRaw, readRaw, signatureOfEmail, sizeOfMessage } from '../../../records/messages/email/raw-message.js'
import { headOfRecipient, sizeOfCopies } from '../../../records/messages/email/recipient-copies.js'
import { type DsnRequest, dsnRequestById, releaseRecipients } from '../../../records/messages/email/recipients.js'
import { rollUpEmail } from '../../../records/messages/email/roll-up.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { WorkspaceDirectory } from '../../../workspaces/accounts/workspace/workspace-directory.js'
import type { SigningKeyCache } from '../../../workspaces/domains/dkim/signing-keys.js'
import { mailHostOf } from '../../../workspaces/domains/rows/sending-domains.js'
import type { Destination } from '../hosts/destination.js'
import { type CachedMessage, type MessageCache, type SignedBytes, SMALL_MESSAGE_SIZE } from '../queue/message-cache.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import { ensureSignature, findOwnMessage, type OwnMessage, type SignDeps } from './own-message.js'

interface PreparerDeps extends SignDeps {
  readonly read: Read
  readonly messageCache: MessageCache
  readonly owners: Pick<WorkspaceDirectory, 'ownerOf'>
  /** The key of return paths and references. */
  readonly secret: KeyObject
}

export interface ReadyMessage {
  readonly message: OutboundMessage
  readonly email: Email
  /** Reads the bytes without the fields that this server adds. */
  readonly readRaw: () => Buffer
  readonly signed: SignedBytes
  /** Commit these writes with the lease, or with the outcome if the entry was claimed. */
  readonly writes: readonly Write[]
  /** If not null, it replaces the destination that was found. */
  readonly destination: Destination | null
}

interface DsnRequestLookup {
  readonly dsnRequests: DsnRequest | undefined
  readonly writes: Write[]
}

export class MessagePreparer {
  constructor(private readonly deps: PreparerDeps) {}

  /** Rejects if the message is gone. */
  async prepare(entry: QueueEntry, now: number): Promise<ReadyMessage> {
    const { deps } = this
    const cachedMessage = deps.messageCache.get(entry.email_id, entry.id) ?? (await loadMessage(deps, entry))
    const own = await findOwnMessage(deps.read, cachedMessage, entry)
    const field = await ensureSignature(deps, cachedMessage, own, now)
    const { dsnRequests, writes } = await findDsnRequests(deps, cachedMessage, entry)
    if (field !== null && !own.signed.isSignatureStored) writes.push(own.storeSignature(field, now))
    const { email } = cachedMessage
    const message: OutboundMessage = {
      returnPath: returnPathOf(deps.secret, email, entry.id, dsnRequests),
      recipient: entry.recipient,
      domain: entry.domain,
      pieces: withFields(referenceFieldFor(deps.secret, email, entry.id) + (field ?? ''), own),
      smtputf8: email.smtputf8 === 1 || needsUtf8(entry.recipient),
      envid: email.envid,
      ret: email.ret,
      notify: dsnRequests?.notify == null ? null : parseNotify(dsnRequests.notify),
      orcpt: dsnRequests?.orcpt ?? null,
      tlsRequired: email.tls_required,
    }
    return {
      message,
      email,
      readRaw: own.readRaw,
      signed: own.signed,
      writes,
      destination: (await isOrphan(deps.signingKeys, email)) ? deletedDomainRefusal : null,
    }
  }

  /**
   * Builds enough of the message to record a fault and notify the sender, even if its bytes are missing. Returns null
   * if the email is gone.
   */
  async buildMinimal(entry: QueueEntry): Promise<ReadyMessage | null> {
    const { read } = this.deps
    const email = (await emailById(read, { workspaceId: entry.workspace_id, id: entry.email_id }))[0]
    if (email === undefined) return null
    const ref = { workspaceId: entry.workspace_id, emailId: entry.email_id, recipientId: entry.id }
    const raw = await headOfRecipient(read, ref)
    const requests = (await dsnRequestById(read, { id: entry.id }))[0]
    const message: OutboundMessage = {
      returnPath: '',
      recipient: entry.recipient,
      domain: entry.domain,
      pieces: [],
      smtputf8: false,
      envid: email.envid,
      ret: email.ret,
      notify: requests?.notify == null ? null : parseNotify(requests.notify),
      orcpt: requests?.orcpt ?? null,
    }
    return { message, email, readRaw: () => raw, signed: { isSignatureStored: false }, writes: [], destination: null }
  }
}

/** Puts fields above the message without copying it. */
function withFields(fields: string, { pieces }: OwnMessage): readonly Buffer[] {
  return fields === '' ? pieces : [Buffer.from(fields, 'latin1'), ...pieces]
}

/** Reads the requests from memory, else from the database, where the recipients may still be scheduled. */
async function findDsnRequests(
  { read }: PreparerDeps,
  cached: CachedMessage,
  entry: QueueEntry,
): Promise<DsnRequestLookup> {
  const known = cached.dsnRequests?.get(entry.id)
  if (known !== undefined) return { dsnRequests: known, writes: [] }
  const [dsnRequests] = await dsnRequestById(read, { id: entry.id })
  return { dsnRequests, writes: dsnRequests?.status === 'scheduled' ? releaseScheduled(entry) : [] }
}

const deletedDomainRefusal: Destination = {
  kind: 'refused',
  reason: 'domain-deleted',
  status: '5.7.1',
  response: 'the sending domain was deleted while the message waited',
  recipientsFault: false,
}

/** Tells whether the sending domain was deleted. A domain and its signing key are deleted together. */
async function isOrphan(keys: Pick<SigningKeyCache, 'find'>, { workspace_id, from_email }: Email): Promise<boolean> {
  return workspace_id !== SERVICE_WORKSPACE && (await keys.find(workspace_id, domainOf(from_email))) === undefined
}

/** Releases a scheduled email for all its recipients. If it is cancelled at the same moment, the lease fails. */
export function releaseScheduled({ email_id }: QueueEntry): Write[] {
  return [
    releaseRecipients({ emailId: email_id }),
    rollUpEmail({ emailId: email_id, sentAt: null, deliveredAt: null, bouncedAt: null }),
  ]
}

/** Caches the message for its other recipients, which may come at the same time. */
async function loadMessage({ read, messageCache, owners }: PreparerDeps, entry: QueueEntry): Promise<CachedMessage> {
  const key = { workspaceId: entry.workspace_id, emailId: entry.email_id }
  // The room includes all copies, so that an entry that holds some never waits for more.
  const bytes = (await sizeOfMessage(read, key)) + ((await sizeOfCopies(read, key))[0]?.bytes ?? 0)
  const room = await messageCache.reserveRoom(owners.ownerOf(entry.workspace_id), bytes)
  const letGo = (message: CachedMessage): CachedMessage => {
    messageCache.releaseRoom(room)
    return message
  }
  try {
    // Another recipient may have read the message while this one waited, here and after the reads.
    const waited = messageCache.get(entry.email_id, entry.id)
    if (waited !== undefined) return letGo(waited)
    const isLarge = bytes > SMALL_MESSAGE_SIZE
    const loaded = await toCached(read, entry, isLarge ? await readLargeRaw(read, key) : await readRaw(read, key))
    const meanwhile = messageCache.get(entry.email_id, entry.id)
    if (meanwhile !== undefined) {
      if (isLarge) freeMemory(loaded.raw)
      return letGo(meanwhile)
    }
    messageCache.addReadBack(loaded, entry.id, room)
    return loaded
  } catch (error) {
    messageCache.releaseRoom(room)
    throw error
  }
}

async function toCached(read: Read, entry: QueueEntry, raw: Buffer | undefined): Promise<CachedMessage> {
  const key = { workspaceId: entry.workspace_id, emailId: entry.email_id }
  const email = (await emailById(read, { workspaceId: entry.workspace_id, id: entry.email_id }))[0]
  if (email === undefined || raw === undefined) throw new Error('a queue entry has no message')
  const field = (await signatureOfEmail(read, key))[0]?.field
  return field === undefined
    ? { email, raw, copies: new Map(), isSignatureStored: false }
    : { email, raw, copies: new Map(), signature: Promise.resolve(field), isSignatureStored: true }
}

/** Mail of the service itself has no reference field, because complaints about it are not reported. */
function referenceFieldFor(secret: KeyObject, email: Email, recipientId: string): string {
  return email.workspace_id === SERVICE_WORKSPACE ? '' : createReferenceField(secret, recipientId)
}

/**
 * Returns the return path. Mail of the service itself has the null return path, which ends its bounces. A forwarded
 * message has its rewritten sender, or a token if the sender cannot be rewritten. It also has a token if the sender was
 * not proved and must get no notice: anyone who knows the rewritten form can write to that sender through this server,
 * so a client must not be able to choose the sender.
 */
function returnPathOf(secret: KeyObject, email: Email, recipientId: string, requests: DsnRequest | undefined): string {
  const host = mailHostOf(domainOf(email.from_email))
  if (email.workspace_id !== SERVICE_WORKSPACE) return createReturnPath(secret, recipientId, host)
  if (email.envelope_from === '') return ''
  if (requests?.notify === NO_NOTICE) return createReturnPath(secret, recipientId, host)
  const rewritten = createForwardedSender(secret, email.envelope_from, host, email.created_at)
  return rewritten ?? createReturnPath(secret, recipientId, host)
}
