/**
 * Accepts emails of requests: one, or several of one request. It is the only way from a REST request to an email, also
 * for the requests of other services' clients.
 *
 * When it resolves, the emails are on disk. A request that repeats an idempotency key gets the first answer again. If the
 * first one ended between two of its parts, the repetition goes on after those that are stored. Each part is stored only
 * if the key is still where the request has left it, so of equal requests at once one goes on and the others end.
 */
import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { minSizeOf } from '../../../outbound/sending/composed-size.js'
import type { EmailCommitter } from '../../../outbound/sending/email-committer.js'
import type { EmailComposer, RequestedEmail } from '../../../outbound/sending/email-composer.js'
import type { PreparedEmail } from '../../../outbound/sending/email-preparer.js'
import { type EarlierUse, findEarlierUse, type KeyUse } from '../../../outbound/sending/idempotency.js'
import type { BatchQuotaCheck } from '../../../workspaces/accounts/limits/quota.js'
import { PartlyDone } from '../http/error-answer.js'
import type { Call } from '../http/route/route.js'
import type { EmailRequest } from './email-request.js'
import { parseIdempotencyKey, readProgress, withProgress, withStoredAnswer } from './idempotency-key.js'
import { copyBytes } from './own-bytes.js'
import { buildRequestedEmail, type Manner } from './requested-email.js'
import { StoredParts, type StoredPartsDeps } from './stored-parts.js'

/** 32 MB. Composed messages are in memory until their commit. */
export const MAX_COMMIT_BYTES = 32 * 1_048_576
/** Emails of one commit. */
const MAX_COMMIT_EMAILS = 100

export interface AcceptanceDeps {
  readonly read: Read
  readonly composer: Pick<EmailComposer, 'compose'>
  readonly committer: Pick<EmailCommitter, 'commit'>
  /** Where the templates and files of a request come from. */
  readonly storedParts: StoredPartsDeps
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  /** Refuses several emails before any is composed if a quota has no room for all. */
  readonly refusalOf: BatchQuotaCheck
}

/** The answer to a request, as JSON, and the ids of the emails that it accepted: none if it repeats an answer. */
interface Accepted {
  readonly json: string
  readonly emails: readonly string[]
}

/** How an interface answers, and what it does with emails that say nothing else. */
export interface EmailStyle<Item> extends Manner {
  /** What an answer says of an email. */
  readonly toItem: (prepared: PreparedEmail, requested: RequestedEmail) => Item
}

export interface BatchStyle<Item> extends EmailStyle<Item> {
  /** True: one email that is refused refuses the request. False: the others are accepted. */
  readonly strict: boolean
  /**
   * True: a request may have more than `MAX_COMMIT_BYTES` of messages, and is committed in parts. False: it is
   * refused, so that either all of it is stored or nothing.
   */
  readonly inParts: boolean
  /** True if emails of a request may have the same bodies or files. */
  readonly sharesBytes?: boolean
  readonly toAnswer: (items: readonly (Item | Refusal)[]) => unknown
  /**
   * The emails of a request that goes on, if they depend on what was answered for its first one. If it is absent, they
   * are those of the request.
   */
  readonly listAgain?: (first: Item) => RequestList
}

/** The emails of one request: a list, or what makes each when it is its turn. */
export type RequestList = { readonly length: number } & (
  | Iterable<EmailRequest | Refusal>
  | AsyncIterable<EmailRequest | Refusal>
)

type AnyCall = Call<unknown, unknown>

export class EmailAcceptance {
  constructor(readonly deps: AcceptanceDeps) {}

  /** Rejects with a Refusal if the email may not be sent. */
  async accept<Item>(call: AnyCall, request: EmailRequest, style: EmailStyle<Item>): Promise<Accepted> {
    const use = parseIdempotencyKey(call)
    const before = await this.findEarlier(call, use)
    if (before !== null) return repeated(before)
    requireDiskSpace(this.deps)
    const stored = new StoredParts(this.deps.storedParts, call.principal.workspaceId, call.now)
    try {
      const requested = await buildRequestedEmail(request, call.now, stored, style)
      const prepared = await this.deps.composer.compose(call.principal, requested, call.now)
      stored.hold(prepared.copies?.bytes ?? 0)
      const json = JSON.stringify(style.toItem(prepared, requested))
      const options = { also: stored.usageWrites() }
      const other = await this.deps.committer.commit([prepared], withStoredAnswer(use, json), call.now, options)
      return other === null ? { json, emails: [prepared.enqueued.email.id] } : repeated(other)
    } finally {
      stored.release()
    }
  }

  /**
   * Accepts the valid emails of a request. A Refusal among them stands for one that is invalid. Rejects with a Refusal
   * if a quota has no room for all. After each email it yields to the event loop.
   */
  async acceptAll<Item>(call: AnyCall, requests: RequestList, style: BatchStyle<Item>): Promise<Accepted> {
    const use = parseIdempotencyKey(call)
    const before = await this.findEarlier(call, use)
    if (before?.progress === null) return repeated(before)
    requireDiskSpace(this.deps)
    const left = requests.length - (before?.progress ?? 0)
    const refusal = await this.deps.refusalOf(call.principal.workspaceId, left, call.now)
    if (refusal !== null) throw refusal
    const stored = new StoredParts(this.deps.storedParts, call.principal.workspaceId, call.now)
    try {
      const items = before === null ? [] : readProgress<Item>(before)
      return await new Batch(this.deps, call, style, stored, use, items).accept(requests)
    } finally {
      stored.release()
    }
  }

  private async findEarlier({ now }: AnyCall, use: KeyUse | null): Promise<EarlierUse | null> {
    return use === null ? null : await findEarlierUse(this.deps.read, use, now)
  }
}

/** The emails of one request: composed, and committed in one part or several. */
class Batch<Item> {
  private readonly emails: string[] = []
  /** Composed, and not committed yet. */
  private part: PreparedEmail[] = []
  /** The bytes of the part, with what was composed and refused: a few bytes can request stored files of megabytes. */
  private bytes = 0
  /** The items that committed parts have. */
  private done: number
  /** Those of them that were accepted. */
  private sent: number

  /** `items` has those of parts that an equal request before has committed. */
  constructor(
    private readonly deps: AcceptanceDeps,
    private readonly call: AnyCall,
    private readonly style: BatchStyle<Item>,
    private readonly stored: StoredParts,
    private readonly use: KeyUse | null,
    private readonly items: (Item | Refusal)[],
  ) {
    this.done = items.length
    this.sent = items.filter(isAccepted).length
  }

  async accept(requests: RequestList): Promise<Accepted> {
    const [first] = this.items.filter(isAccepted)
    const list = first === undefined ? requests : (this.style.listAgain?.(first) ?? requests)
    try {
      return await this.acceptFrom(this.done, list)
    } catch (error) {
      throw this.sent === 0 ? error : this.describeStop(error)
    }
  }

  private async acceptFrom(start: number, requests: RequestList): Promise<Accepted> {
    let index = 0
    for await (const request of requests) {
      if (index >= start) await this.compose(request, index)
      index += 1
      if (!this.style.inParts && this.bytes > MAX_COMMIT_BYTES) throw buildTooLargeRefusal(this.bytes)
      const other = this.isPartFull && index < requests.length ? await this.commitPart(false) : null
      if (other !== null) return repeated(other)
      await setImmediate()
    }
    // If nothing was sent, the same key may be used again.
    const isEmpty = this.part.length === 0 && (this.sent === 0 || this.use === null)
    const other = isEmpty ? null : await this.commitPart(true)
    return other === null ? { json: this.toJson(), emails: this.emails } : repeated(other)
  }

  private async compose(request: EmailRequest | Refusal, index: number): Promise<void> {
    try {
      if (request instanceof Refusal) throw request
      const own = this.style.sharesBytes === true ? copyBytes(request) : request
      const requested = await buildRequestedEmail(own, this.call.now, this.stored, this.style)
      const size = minSizeOf(requested.content)
      this.bytes += size
      const prepared = await this.deps.composer.compose(this.call.principal, requested, this.call.now)
      const copied = prepared.copies?.bytes ?? 0
      this.stored.hold(copied)
      this.bytes += prepared.enqueued.email.size - size + copied
      this.items.push(this.style.toItem(prepared, requested))
      this.part.push(prepared)
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error
      if (this.style.strict) throw this.describeFault(error, index)
      this.items.push(error)
    }
  }

  private get isPartFull(): boolean {
    if (!this.style.inParts || this.part.length === 0) return false
    return this.part.length >= MAX_COMMIT_EMAILS || this.bytes >= MAX_COMMIT_BYTES
  }

  private async commitPart(isLast: boolean): Promise<EarlierUse | null> {
    const once = isLast
      ? withStoredAnswer(this.use, this.toJson(), this.done)
      : withProgress(this.use, this.items, this.done)
    const options = { batch: true, also: this.stored.usageWrites() }
    const other = await this.deps.committer.commit(this.part, once, this.call.now, options)
    if (other !== null) return other
    this.emails.push(...this.part.map(({ enqueued }) => enqueued.email.id))
    this.done = this.items.length
    this.sent = this.items.filter(isAccepted).length
    this.part = []
    this.bytes = 0
    return null
  }

  private toJson(): string {
    return JSON.stringify(this.style.toAnswer(this.items))
  }

  private describeFault(fault: Refusal, index: number): Refusal {
    const consequence = this.sent === 0 ? '; nothing was sent' : ''
    return new Refusal(fault.kind, `email ${index}: ${fault.message}${consequence}`, { ...fault.details, index })
  }

  private describeStop(error: unknown): PartlyDone {
    const cure =
      this.use === null
        ? 'send the others alone'
        : 'repeat the same request with the same idempotency key to send the others'
    return new PartlyDone(error, `${this.sent} of the emails are sent: ${cure}`, { sent: this.sent })
  }
}

function isAccepted<Item>(item: Item | Refusal): item is Item {
  return !(item instanceof Refusal)
}

function buildTooLargeRefusal(size: number): Refusal {
  const message = `the composed messages of the batch have ${size} bytes or more, allowed: ${MAX_COMMIT_BYTES}`
  return new Refusal('too-large', message, { size, limit: MAX_COMMIT_BYTES })
}

/** The answer to the equal request before. Throws a Refusal `conflict` if that is under way. */
function repeated({ answer, progress }: EarlierUse): Accepted {
  if (progress !== null) {
    const message = 'another request with this idempotency key is under way: repeat this one later to get its answer'
    throw new Refusal('conflict', message)
  }
  if (answer === null) throw new Error('an idempotency key of the API has no stored answer')
  return { json: answer, emails: [] }
}

export function requireDiskSpace({ hasDiskSpace }: Pick<AcceptanceDeps, 'hasDiskSpace'>): void {
  if (!hasDiskSpace()) throw new Refusal('storage-full', 'the service cannot store anything now, try again later')
}
