/**
 * Accepts emails of requests: one, or several of one request. It is the only way from a REST request to an email, also
 * for the requests of other services' clients.
 *
 * When it resolves, the emails are on disk. A request that repeats an idempotency key gets the first answer again.
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
import type { Call } from '../http/route/route.js'
import type { EmailRequest } from './email-request.js'
import { parseIdempotencyKey, withStoredAnswer } from './idempotency-key.js'
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
    const before = this.findEarlier(call, use)
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
    const before = this.findEarlier(call, use)
    if (before !== null) return repeated(before)
    requireDiskSpace(this.deps)
    const refusal = this.deps.refusalOf(call.principal.workspaceId, requests.length, call.now)
    if (refusal !== null) throw refusal
    const stored = new StoredParts(this.deps.storedParts, call.principal.workspaceId, call.now)
    try {
      return await new Batch(this.deps, call, style, stored, use).accept(requests)
    } finally {
      stored.release()
    }
  }

  private findEarlier({ now }: AnyCall, use: KeyUse | null): EarlierUse | null {
    return use === null ? null : findEarlierUse(this.deps.read, use, now)
  }
}

/** The emails of one request: composed, and committed in one part or several. */
class Batch<Item> {
  private readonly items: (Item | Refusal)[] = []
  private readonly emails: string[] = []
  /** Composed, and not committed yet. */
  private part: PreparedEmail[] = []
  /** The bytes of the part, with what was composed and refused: a few bytes can request stored files of megabytes. */
  private bytes = 0

  constructor(
    private readonly deps: AcceptanceDeps,
    private readonly call: AnyCall,
    private readonly style: BatchStyle<Item>,
    private readonly stored: StoredParts,
    private readonly use: KeyUse | null,
  ) {}

  async accept(requests: RequestList): Promise<Accepted> {
    for await (const request of requests) {
      await this.compose(request, this.items.length)
      if (this.style.inParts) await this.commitFullPart()
      else if (this.bytes > MAX_COMMIT_BYTES) throw buildTooLargeRefusal(this.bytes)
      await setImmediate()
    }
    const json = JSON.stringify(this.style.toAnswer(this.items))
    // If nothing was sent, the same key may be used again.
    const isEmpty = this.part.length === 0 && (this.emails.length === 0 || this.use === null)
    const other = isEmpty ? null : await this.commitPart(withStoredAnswer(this.use, json))
    return other === null ? { json, emails: this.emails } : repeated(other)
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

  private async commitFullPart(): Promise<void> {
    if (this.part.length < MAX_COMMIT_EMAILS && this.bytes < MAX_COMMIT_BYTES) return
    await this.commitPart(null)
  }

  private async commitPart(once: Parameters<EmailCommitter['commit']>[1]): Promise<EarlierUse | null> {
    const options = { batch: true, also: this.stored.usageWrites() }
    const other = await this.deps.committer.commit(this.part, once, this.call.now, options).catch((error: unknown) => {
      throw error instanceof Refusal && this.emails.length > 0 ? this.describeFault(error, this.emails.length) : error
    })
    if (other === null) this.emails.push(...this.part.map(({ enqueued }) => enqueued.email.id))
    this.part = []
    this.bytes = 0
    return other
  }

  private describeFault(fault: Refusal, index: number): Refusal {
    const { length } = this.emails
    return describeFaultAt(fault, index, length === 0 ? 'nothing was sent' : `${length} emails before it are sent`)
  }
}

function describeFaultAt(fault: Refusal, index: number, consequence: string): Refusal {
  return new Refusal(fault.kind, `email ${index}: ${fault.message}; ${consequence}`, { ...fault.details, index })
}

function buildTooLargeRefusal(size: number): Refusal {
  const message = `the composed messages of the batch have ${size} bytes or more, allowed: ${MAX_COMMIT_BYTES}`
  return new Refusal('too-large', message, { size, limit: MAX_COMMIT_BYTES })
}

/** The answer to the equal request before. */
function repeated({ answer }: EarlierUse): Accepted {
  if (answer === null) throw new Error('an idempotency key of the API has no stored answer')
  return { json: answer, emails: [] }
}

export function requireDiskSpace({ hasDiskSpace }: Pick<AcceptanceDeps, 'hasDiskSpace'>): void {
  if (!hasDiskSpace()) throw new Refusal('storage-full', 'the service cannot store anything now, try again later')
}
