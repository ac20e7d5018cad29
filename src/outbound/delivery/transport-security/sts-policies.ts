/**
 * The MTA-STS policies of the domains that get mail, in memory and in the database (RFC 8461). Their number is bounded:
 * the one used least recently leaves first.
 *
 * A policy is fetched when the TXT record of its domain shows an unknown id, and once a day while it is in use. It is
 * valid until its time is over: neither a missing TXT record nor a failed fetch ends it before, because an attacker on
 * the path can cause both. Mail waits a few seconds for the first policy of its domain, and is then sent as without
 * one. A known policy is used at once, while its TXT record is checked.
 *
 * The names under one registrable domain have one owner, who can invent any number of them. So they share a small part
 * of the memory and of the fetches: no owner can displace the policies of others, and thereby their encryption.
 */
import { findOwnerDomain } from '../../../base/mail/public-suffix.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { DnssecResolver } from '../../../base/platform/dns/resolver.js'
import type { Log } from '../../../base/platform/log.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { Semaphore } from '../../../base/platform/semaphore.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import { parseJson, toJson } from '../../../base/storage/tables/columns.js'
import type { StsPoliciesTable } from '../../../base/storage/tables/delivery-tables.js'
import type { TlsFailure } from '../hosts/tls-result.js'
import type { FetchStsPolicy } from './fetch-sts-policy.js'
import { readStsId, type StsPolicy } from './sts-policy.js'

/** The MTA-STS policies in the database, which are valid across restarts. They belong to no workspace. */
const listStsPolicies = prepareRead<{ limit: number }>()(({ db, slot }) =>
  db.selectFrom('sts_policies').selectAll().orderBy('domain').limit(slot('limit')),
)

const policyColumns = ['policy_id', 'mode', 'patterns', 'max_age', 'fetched_at'] as const

const putStsPolicy = prepareWrite<StsPoliciesTable>(({ db, slots }) =>
  db
    .insertInto('sts_policies')
    .values(slots(['domain', ...policyColumns]))
    .onConflict((conflict) => conflict.column('domain').doUpdateSet(slots(policyColumns))),
)

const removeStsPolicy = prepareWrite<{ domain: string }>(({ db, slot }) =>
  db.deleteFrom('sts_policies').where('domain', '=', slot('domain')),
)

interface StsPoliciesDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  readonly judgeRecords: DnssecResolver['judgeRecords']
  readonly fetchPolicy: FetchStsPolicy
  /** Milliseconds that mail waits for the first policy of its domain. */
  readonly maxWait: number
  /** Called when a policy could not be fetched. */
  readonly onFetchFailure: (domain: string, failure: TlsFailure) => void
}

interface KnownPolicy extends StsPolicy {
  readonly domain: string
  readonly id: string
  readonly fetchedAt: number
  usedAt: number
}

const MAX_POLICIES = 5_000
/** The most policies under one registrable domain, and the most fetches of them at a time. */
const [MAX_POLICIES_OF_ONE, MAX_FETCHES_OF_ONE] = [100, 3]
const MAX_CHECKED_DOMAINS = 20_000
const MAX_FETCHES = 20
const MAX_WAITING_FETCHES = 1_000
/** Milliseconds that a fetch waits for its turn. */
const FETCH_WAIT = 60_000
/** Milliseconds until the TXT record is read again, from the cache of the resolver while it is valid there. */
const CHECK_INTERVAL = 60_000
/** The same after a failed look-up, which may have taken long. */
const FAILURE_CHECK_INTERVAL = 300_000
/** Milliseconds after a failed fetch. RFC 8461 section 3.3 asks for five minutes or longer. */
const RETRY_AFTER = 300_000
const REFRESH_AFTER = 86_400_000
const REFRESH_INTERVAL = 600_000
const MAX_REFRESHES = 50
/** A policy is not refreshed if its domain got no mail for this many milliseconds. */
const UNUSED_AFTER = 14 * 86_400_000

export class StsPolicies {
  private readonly evicted = new Set<string>()
  private readonly policies = createLruCache<KnownPolicy>({
    max: MAX_POLICIES,
    onRemove: (_policy, domain) => this.noteRemoved(domain),
  })
  /** The domains by registrable domain, those fetched last at the end. */
  private readonly owned = new Map<string, Set<string>>()
  private readonly fetching = new Map<string, number>()
  /** The moments until which the TXT record of a domain needs no check. */
  private readonly checkedUntil = createLruCache<number>({ max: MAX_CHECKED_DOMAINS })
  private readonly retryAt = createLruCache<number>({ max: MAX_CHECKED_DOMAINS })
  private readonly running = new Map<string, Promise<void>>()
  private readonly fetchSlots = new Semaphore(MAX_FETCHES, MAX_WAITING_FETCHES)
  private readonly abortController = new AbortController()
  private readonly timer: NodeJS.Timeout

  private constructor(private readonly deps: StsPoliciesDeps) {
    this.timer = setInterval(() => void this.refresh(), REFRESH_INTERVAL)
    this.timer.unref()
  }

  /** Reads the policies that were stored before the start. */
  static async open(deps: StsPoliciesDeps): Promise<StsPolicies> {
    const rows = await listStsPolicies(deps.read, { limit: MAX_POLICIES })
    const policies = new StsPolicies(deps)
    const now = deps.clock()
    for (const { domain, policy_id: id, mode, patterns, max_age: maxAge, fetched_at: fetchedAt } of rows)
      policies.keep({ domain, id, mode, patterns: parseJson(patterns), maxAge, fetchedAt, usedAt: now })
    return policies
  }

  get size(): number {
    return this.policies.size
  }

  /** Resolves to the policy that applies to mail for the domain now, or to null if there is none. Never rejects. */
  async find(domain: string): Promise<StsPolicy | null> {
    const now = this.deps.clock()
    if (this.findValid(domain) === null) await this.waitForCheck(domain, now)
    else if (this.needsCheck(domain, now)) void this.check(domain)
    const policy = this.findValid(domain)
    if (policy !== null) policy.usedAt = now
    return policy === null || policy.mode === 'none' ? null : policy
  }

  /** Fetches the policies again that were fetched a day ago. Resolves when that has ended. */
  async refresh(): Promise<void> {
    const now = this.deps.clock()
    const retryAt = ({ domain }: KnownPolicy): number => this.retryAt.peek(domain) ?? 0
    const due = [...this.policies.values()].filter((policy) => isDue(policy, now) && retryAt(policy) <= now)
    // Policies that failed before come last, so that the others are refreshed however many fail.
    const first = due.sort((a, b) => retryAt(a) - retryAt(b)).slice(0, MAX_REFRESHES)
    await Promise.all(first.map(({ domain, id }) => this.fetch(domain, id)))
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.abortController.abort()
    this.fetchSlots.close()
    await Promise.all(this.running.values())
  }

  private findValid(domain: string): KnownPolicy | null {
    const policy = this.policies.get(domain)
    return policy !== undefined && this.deps.clock() < policy.fetchedAt + policy.maxAge ? policy : null
  }

  private needsCheck(domain: string, now: number): boolean {
    const until = this.checkedUntil.get(domain) ?? 0
    // A time beyond the interval means that the clock was set back.
    return until <= now || until > now + FAILURE_CHECK_INTERVAL
  }

  private async waitForCheck(domain: string, now: number): Promise<void> {
    if (!this.needsCheck(domain, now)) return
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        // The next message does not wait again, and the check continues.
        this.checkedUntil.set(domain, now + CHECK_INTERVAL)
        resolve()
      }, this.deps.maxWait)
    })
    await Promise.race([this.check(domain), limit])
    clearTimeout(timer)
  }

  /** Runs one check at a time for each domain. */
  private check(domain: string): Promise<void> {
    const known = this.running.get(domain)
    if (known !== undefined) return known
    const check = this.readRecord(domain).finally(() => this.running.delete(domain))
    this.running.set(domain, check)
    return check
  }

  private async readRecord(domain: string): Promise<void> {
    const { lookup } = await this.deps.judgeRecords(`_mta-sts.${domain}`, 'TXT')
    const id = lookup.kind === 'records' ? readStsId(lookup.records) : null
    const now = this.deps.clock()
    const known = this.findValid(domain)
    const isRetryable = (this.retryAt.get(domain) ?? 0) <= now
    if (id !== null && id !== known?.id && isRetryable) await this.fetch(domain, id)
    const interval = lookup.kind === 'failure' ? FAILURE_CHECK_INTERVAL : CHECK_INTERVAL
    this.checkedUntil.set(domain, this.deps.clock() + interval)
  }

  private async fetch(domain: string, id: string): Promise<void> {
    const owner = ownerOf(domain)
    const count = this.fetching.get(owner) ?? 0
    if (count >= MAX_FETCHES_OF_ONE) return
    this.fetching.set(owner, count + 1)
    try {
      await this.fetchInTurn(domain, id)
    } finally {
      const left = (this.fetching.get(owner) ?? 1) - 1
      if (left > 0) this.fetching.set(owner, left)
      else this.fetching.delete(owner)
    }
  }

  private async fetchInTurn(domain: string, id: string): Promise<void> {
    const { clock, log, fetchPolicy, onFetchFailure } = this.deps
    const { signal } = this.abortController
    if (!(await this.fetchSlots.acquire(FETCH_WAIT))) return
    const fetched = await fetchPolicy(domain, signal).finally(() => this.fetchSlots.release())
    if (signal.aborted) return
    const now = clock()
    if (!('type' in fetched)) {
      this.retryAt.delete(domain)
      const usedAt = this.policies.peek(domain)?.usedAt ?? now
      await this.store({ ...fetched, domain, id, fetchedAt: now, usedAt })
      return
    }
    this.retryAt.set(domain, now + RETRY_AFTER)
    log.warn({ domain, failure: fetched.type, detail: fetched.detail }, 'an MTA-STS policy cannot be fetched')
    onFetchFailure(domain, fetched)
  }

  private keep(policy: KnownPolicy): void {
    const { domain } = policy
    this.policies.set(domain, policy)
    const owner = ownerOf(domain)
    const owned = this.owned.get(owner) ?? new Set()
    this.owned.set(owner, owned.add(domain))
    const [oldest] = owned
    if (owned.size > MAX_POLICIES_OF_ONE && oldest !== undefined) this.policies.delete(oldest)
  }

  /** Notes that a policy was removed or replaced. */
  private noteRemoved(domain: string): void {
    this.evicted.add(domain)
    const owner = ownerOf(domain)
    const owned = this.owned.get(owner)
    owned?.delete(domain)
    if (owned?.size === 0) this.owned.delete(owner)
  }

  /** Stores a policy. If the database does not take it, it is valid in memory. */
  private async store(policy: KnownPolicy): Promise<void> {
    const { domain, id, mode, patterns, maxAge, fetchedAt } = policy
    this.keep(policy)
    const row = { domain, policy_id: id, mode, patterns: toJson(patterns), max_age: maxAge, fetched_at: fetchedAt }
    const gone = [...this.evicted].filter((name) => !this.policies.has(name))
    this.evicted.clear()
    try {
      await this.deps.commit([putStsPolicy(row), ...gone.map((name) => removeStsPolicy({ domain: name }))])
    } catch (err) {
      this.deps.log.error({ domain, err }, 'an MTA-STS policy cannot be stored')
    }
  }
}

function isDue({ fetchedAt, maxAge, usedAt }: KnownPolicy, now: number): boolean {
  return fetchedAt + Math.min(REFRESH_AFTER, maxAge / 2) <= now && usedAt + UNUSED_AFTER > now
}

function ownerOf(domain: string): string {
  return findOwnerDomain(domain) ?? domain
}
