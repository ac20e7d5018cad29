/**
 * Counts what sessions say about TLS, for the reports of their day (RFC 8460 section 4).
 *
 * A session adds to numbers in memory, which are stored once a minute in a few commits, so a crash loses at most the
 * last minute. Others choose the hosts and addresses in them, so the number of rows is limited. Beyond the limit of a
 * domain, faults are counted without host and addresses. Beyond the limit of all domains, new domains are left out.
 */
import { createHash } from 'node:crypto'
import { findOwnerDomain } from '../../../base/mail/public-suffix.js'
import type { Store } from '../../../base/storage/db/database.js'
import { takeTurn, type Write } from '../../../base/storage/db/write.js'
import { toJson } from '../../../base/storage/tables/columns.js'
import type { AppliedPolicy, TlsSessionResult } from '../hosts/tls-result.js'
import { dateOf } from './report-day.js'
import { addSessions, countRowsOfDay, insertPolicy, type StoredResult } from './result-records.js'

interface CounterLimits {
  readonly domains: number
  /** The most domains under one registrable domain, whose owner can invent any number of them. */
  readonly domainsOfOwner: number
  readonly rowsOfDomain: number
  readonly policiesOfDomain: number
  /** The most rows of all domains together. */
  readonly rows: number
}

const defaultLimits: CounterLimits = {
  domains: 10_000,
  domainsOfOwner: 200,
  rowsOfDomain: 1_000,
  policiesOfDomain: 32,
  rows: 50_000,
}
/** The most rows of one commit. */
const PORTION = 500
/** The most strings of one policy. */
const MAX_STRINGS = 100
const MAX_TEXT_LENGTH = 500
/** The most characters of all strings of one policy, because its domain may show another policy at each message. */
const MAX_POLICY_LENGTH = 4_096
const MAX_DETAIL_LENGTH = 200

interface CountedDomain {
  readonly policies: Set<string>
  readonly rows: Set<string>
}

interface PendingRow {
  readonly row: Omit<StoredResult, 'sessions'>
  readonly policy: AppliedPolicy
  sessions: number
}

type CountedResult = Omit<StoredResult, 'sessions'>

export class TlsResultCounter {
  private day = ''
  /** The counted domains of this day. */
  private domains = new Map<string, CountedDomain>()
  /** The number of counted domains under each registrable domain. */
  private owned = new Map<string, number>()
  private rowsOfDay = 0
  private pending = new Map<string, PendingRow>()
  private flushing: Promise<void> = Promise.resolve()

  private constructor(
    private readonly store: Store,
    private readonly limits: typeof defaultLimits,
  ) {}

  /** The rows that were stored on this day before a restart count too. */
  static async open(store: Store, now: number, limits = defaultLimits): Promise<TlsResultCounter> {
    const counter = new TlsResultCounter(store, limits)
    counter.day = dateOf(now)
    counter.rowsOfDay = (await countRowsOfDay(store.read, { day: counter.day }))[0]?.rows ?? 0
    return counter
  }

  /** Counts a session without waiting. Returns false if it is left out, because there are too many domains or rows. */
  count(result: TlsSessionResult): boolean {
    const day = dateOf(result.at)
    if (day !== this.day) this.beginDay(day)
    const domain = this.findDomain(result.domain)
    const policy = policyKeyOf(result.policy)
    if (domain === null || !this.hasRoomForPolicy(domain, policy)) return false
    const detailed = toRow(day, policy, result)
    const row = this.hasRoomForRow(domain, keyOf(detailed)) ? detailed : withoutPlace(detailed)
    this.add(domain, row, result.policy)
    return true
  }

  /** Stores the counts. Rejects if the disk takes no more; nothing is lost then. */
  flush(): Promise<void> {
    this.flushing = this.flushing.catch(() => undefined).then(() => this.storePending())
    return this.flushing
  }

  private beginDay(day: string): void {
    this.day = day
    this.domains = new Map()
    this.owned = new Map()
    this.rowsOfDay = 0
  }

  private findDomain(name: string): CountedDomain | null {
    const known = this.domains.get(name)
    if (known !== undefined) return known
    if (this.domains.size >= this.limits.domains || this.rowsOfDay >= this.limits.rows) return null
    const owner = findOwnerDomain(name) ?? name
    const count = this.owned.get(owner) ?? 0
    if (count >= this.limits.domainsOfOwner) return null
    this.owned.set(owner, count + 1)
    const domain = { policies: new Set<string>(), rows: new Set<string>() }
    this.domains.set(name, domain)
    return domain
  }

  private hasRoomForPolicy({ policies }: CountedDomain, policy: string): boolean {
    return policies.has(policy) || policies.size < this.limits.policiesOfDomain
  }

  private hasRoomForRow({ rows }: CountedDomain, key: string): boolean {
    return rows.has(key) || (rows.size < this.limits.rowsOfDomain && this.rowsOfDay < this.limits.rows)
  }

  private add(domain: CountedDomain, row: CountedResult, policy: AppliedPolicy): void {
    const key = keyOf(row)
    if (!domain.rows.has(key)) this.rowsOfDay += 1
    domain.rows.add(key)
    domain.policies.add(row.policy)
    const pending = this.pending.get(key)
    if (pending === undefined) this.pending.set(key, { row, policy, sessions: 1 })
    else pending.sessions += 1
  }

  private async storePending(): Promise<void> {
    while (this.pending.size > 0) {
      const portion = [...this.pending].slice(0, PORTION)
      for (const [key] of portion) this.pending.delete(key)
      try {
        const writes = portion.flatMap(([, pending]) => toWrites(pending))
        // Another node may add to the same rows in another order.
        await this.store.commit(takeTurn('results of TLS', writes))
      } catch (error) {
        for (const [key, pending] of portion) this.putBack(key, pending)
        throw error
      }
    }
  }

  private putBack(key: string, old: PendingRow): void {
    const newer = this.pending.get(key)
    if (newer === undefined) this.pending.set(key, old)
    else newer.sessions += old.sessions
  }
}

/** A session without a fault has neither host nor addresses, because reports have one number of all such sessions. */
function toRow(day: string, policy: string, result: TlsSessionResult): CountedResult {
  const { domain, failure, receivingHost, receivingAddress, sendingAddress } = result
  const row = { day, domain, policy, result: '', mx_host: '', receiving_ip: '', sending_ip: '', detail: '' }
  if (failure === null) return row
  return {
    ...row,
    result: failure.type,
    mx_host: receivingHost ?? '',
    receiving_ip: receivingAddress ?? '',
    sending_ip: sendingAddress ?? '',
    detail: failure.detail.slice(0, MAX_DETAIL_LENGTH),
  }
}

function withoutPlace(row: CountedResult): CountedResult {
  return { ...row, mx_host: '', receiving_ip: '', sending_ip: '', detail: '' }
}

function keyOf({ day, domain, policy, result, mx_host, receiving_ip, sending_ip }: CountedResult): string {
  return `${day} ${domain} ${policy} ${result} ${mx_host} ${receiving_ip} ${sending_ip}`
}

function policyKeyOf({ type, strings, hosts }: AppliedPolicy): string {
  if (type === 'no-policy-found') return ''
  return createHash('sha256')
    .update(JSON.stringify([type, strings, hosts]))
    .digest('hex')
    .slice(0, 32)
}

function toWrites({ row, policy, sessions }: PendingRow): readonly Write[] {
  const { type, strings, hosts } = policy
  const { day, domain, policy: key } = row
  return [
    insertPolicy({ day, domain, policy: key, type, strings: toJson(bound(strings)), hosts: toJson(bound(hosts)) }),
    addSessions({ ...row, sessions }),
  ]
}

function bound(texts: readonly string[]): readonly string[] {
  let room = MAX_POLICY_LENGTH
  const some = texts.slice(0, MAX_STRINGS).map((text) => text.slice(0, MAX_TEXT_LENGTH))
  return some.filter((text) => {
    room -= text.length
    return room >= 0
  })
}
