/**
 * Counts outcomes in memory until the breaker stores them, so that a message needs no statement for its count. A crash
 * loses the counts of the last seconds.
 */
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { type CountedOutcomes, OWNER_SUBJECT, type ScopeRef } from './outcome-counts.js'

/** Milliseconds of one bucket. */
export const COUNT_BUCKET = 900_000
/** The most scopes and quarters of an hour in memory. If the database takes no writes, further ones are not counted. */
const MAX_PENDING = 10_000

/** The outcome of one recipient of a message. */
export interface Outcome {
  readonly workspaceId: string
  /** The domain of the sender. */
  readonly senderDomain: string
  readonly broadcastId: string | null
  readonly recipientDomain: DomainName
  /** `returned` means that a server had accepted the message before. Both failures are the fault of the address. */
  readonly kind: 'accepted' | 'bounced' | 'returned' | 'complained'
}

/** An attempt of delivery that has ended. */
interface EndedAttempt {
  readonly outcome: string
  /** It bounced because the address is dead. */
  readonly recipientsFault: boolean
  readonly entry: { readonly workspace_id: string; readonly broadcast_id: string | null; readonly domain: DomainName }
  readonly email: { readonly from_email: string }
}

/** A recipient about whom a report has come. */
interface ReportedRecipient {
  readonly recipient: { readonly domain: DomainName }
  readonly email: { readonly workspace_id: string; readonly from_domain: string; readonly broadcast_id: string | null }
}

const added = {
  accepted: { settled: 1, bounced: 0, complained: 0 },
  bounced: { settled: 1, bounced: 1, complained: 0 },
  returned: { settled: 0, bounced: 1, complained: 0 },
  complained: { settled: 0, bounced: 0, complained: 1 },
} as const

interface CountingDeps {
  readonly clock: Clock
  /** Mail to such a domain ends as the sender has asked for, so it says nothing about addresses. */
  readonly isSimulated: (domain: DomainName) => boolean
  /** Returns the owner of a workspace. Workspaces of an owner count together. Absent if there are no owners. */
  readonly ownerOf?: (workspaceId: string) => string
}

export class PendingCounts {
  private pending = new Map<string, CountedOutcomes>()
  private failures = 0

  constructor(private readonly deps: CountingDeps) {}

  /** Tells whether bounces or complaints were counted since the last `take`. */
  get hasFailures(): boolean {
    return this.failures > 0
  }

  /** Counts what an attempt has settled. */
  countAttempt({ outcome, recipientsFault, entry, email }: EndedAttempt): void {
    if (outcome !== 'accepted' && !recipientsFault) return
    this.count({
      workspaceId: entry.workspace_id,
      senderDomain: email.from_email.slice(email.from_email.lastIndexOf('@') + 1),
      broadcastId: entry.broadcast_id,
      recipientDomain: entry.domain,
      kind: outcome === 'accepted' ? 'accepted' : 'bounced',
    })
  }

  /** Counts what a report has changed. */
  countReport({ recipient, email }: ReportedRecipient, kind: 'returned' | 'complained'): void {
    this.count({
      workspaceId: email.workspace_id,
      senderDomain: email.from_domain,
      broadcastId: email.broadcast_id,
      recipientDomain: recipient.domain,
      kind,
    })
  }

  count(outcome: Outcome): void {
    const { workspaceId, senderDomain, broadcastId, recipientDomain, kind } = outcome
    if (workspaceId === SERVICE_WORKSPACE || this.deps.isSimulated(recipientDomain)) return
    const now = this.deps.clock()
    const place = { workspace_id: workspaceId, bucket: now - (now % COUNT_BUCKET), ...added[kind] }
    if (kind !== 'accepted') this.failures += 1
    this.add({ ...place, scope: 'workspace', subject: workspaceId })
    const owner = this.deps.ownerOf?.(workspaceId) ?? workspaceId
    if (owner !== workspaceId) this.add({ ...place, workspace_id: owner, scope: 'workspace', subject: OWNER_SUBJECT })
    this.add({ ...place, scope: 'domain', subject: senderDomain })
    if (broadcastId !== null) this.add({ ...place, scope: 'broadcast', subject: broadcastId })
  }

  /** Returns all pending counts and clears them. */
  take(): readonly CountedOutcomes[] {
    const taken = [...this.pending.values()]
    this.pending = new Map()
    this.failures = 0
    return taken
  }

  /** Adds counts again that the database did not take. */
  putBack(counts: readonly CountedOutcomes[]): void {
    for (const one of counts) {
      this.failures += one.bounced + one.complained
      this.add(one)
    }
  }

  /** Clears the pending counts of these scopes; for a workspace, also all scopes in it and the sums of its owner. */
  forget(scopes: readonly ScopeRef[]): void {
    for (const [key, one] of this.pending) {
      const isMeant = ({ workspaceId, scope, subject }: ScopeRef): boolean =>
        this.isOwnersSum(one, workspaceId, scope) ||
        (one.workspace_id === workspaceId &&
          (scope === 'workspace' || (one.scope === scope && one.subject === subject)))
      if (scopes.some(isMeant)) this.pending.delete(key)
    }
  }

  private isOwnersSum(one: CountedOutcomes, workspaceId: string, scope: ScopeRef['scope']): boolean {
    return (
      scope === 'workspace' && one.subject === OWNER_SUBJECT && one.workspace_id === this.deps.ownerOf?.(workspaceId)
    )
  }

  private add(counts: CountedOutcomes): void {
    const { workspace_id, scope, subject, bucket, settled, bounced, complained } = counts
    const key = `${workspace_id} ${scope} ${subject} ${bucket}`
    const known = this.pending.get(key)
    if (known === undefined) {
      if (this.pending.size < MAX_PENDING) this.pending.set(key, { ...counts })
      return
    }
    known.settled += settled
    known.bounced += bounced
    known.complained += complained
  }
}
