/**
 * The rate limits of ACME servers, kept by waiting. Pure.
 *
 * Let's Encrypt allows an account 300 orders in 3 hours, a registered domain 50 certificates in a week, and the same
 * name 5 certificates in a week. The limits here are lower, so that other machines of the same owner have room.
 */

import type { DomainName } from '../../base/mail/address.js'
import { findOwnerDomain } from '../../base/mail/public-suffix.js'
import { HOUR } from '../../base/platform/time-units.js'

const WEEK = 7 * 24 * HOUR

interface Limit {
  readonly count: number
  /** Milliseconds. */
  readonly within: number
}

/** Limits orders; all other limits count certificates. */
const accountLimit: Limit = { count: 200, within: 3 * HOUR }
const domainLimit: Limit = { count: 40, within: WEEK }
const nameLimit: Limit = { count: 4, within: WEEK }

/** Validity below which a server surely has other limits for the same name: renewals come every few days. */
const SHORT_LIFETIME = 15 * 24 * HOUR

/** Epoch milliseconds of what counts for a name. */
interface CountedTimes {
  readonly orders: readonly number[]
  readonly issued: readonly number[]
}

export class OrderLimits {
  private readonly ofAccount: number[] = []
  private readonly ofDomain = new Map<string, number[]>()
  private readonly ofName = new Map<DomainName, { readonly orders: number[]; readonly issued: number[] }>()

  recordOrder(name: DomainName, at: number): void {
    for (const times of [this.ofAccount, this.timesOf(name).orders]) addTime(times, at, accountLimit)
  }

  recordIssue(name: DomainName, at: number): void {
    const domain = domainOf(name)
    const ofDomain = this.ofDomain.get(domain) ?? []
    this.ofDomain.set(domain, ofDomain)
    for (const times of [ofDomain, this.timesOf(name).issued]) addTime(times, at, domainLimit)
  }

  /** Counts what is stored, which may be of other daemons, and nothing else. */
  load(stored: Iterable<readonly [DomainName, CountedTimes]>): void {
    this.ofAccount.length = 0
    this.ofDomain.clear()
    this.ofName.clear()
    for (const [name, { orders, issued }] of stored) {
      for (const at of orders) this.recordOrder(name, at)
      for (const at of issued) this.recordIssue(name, at)
    }
  }

  /** The times that still count, to be stored. */
  recall(name: DomainName, now: number): CountedTimes {
    const { orders, issued } = this.timesOf(name)
    return {
      orders: orders.filter((at) => at > now - accountLimit.within),
      issued: issued.filter((at) => at > now - nameLimit.within),
    }
  }

  /**
   * The first time from `now` on at which an order for the name keeps all limits. `lifetime` is that of its
   * certificate.
   */
  nextOrderAt(name: DomainName, now: number, lifetime: number | null): number {
    const ofName = lifetime !== null && lifetime < SHORT_LIFETIME ? [] : this.timesOf(name).issued
    return Math.max(
      nextTime(this.ofAccount, accountLimit, now),
      nextTime(this.ofDomain.get(domainOf(name)) ?? [], domainLimit, now),
      nextTime(ofName, nameLimit, now),
    )
  }

  private timesOf(name: DomainName): { readonly orders: number[]; readonly issued: number[] } {
    const times = this.ofName.get(name) ?? { orders: [], issued: [] }
    this.ofName.set(name, times)
    return times
  }
}

/** A time after `now` was noted by a clock that was ahead. */
function nextTime(times: readonly number[], { count, within }: Limit, now: number): number {
  const decisive = times.filter((at) => at <= now).at(-count)
  return decisive === undefined ? now : Math.max(now, decisive + within)
}

/** Times are in order. Those that no longer count are removed. */
function addTime(times: number[], at: number, { within }: Limit): void {
  times.push(at)
  times.sort((a, b) => a - b)
  while ((times[0] ?? at) < at - within) times.shift()
}

/** The domain that a registrar sold; the name itself in a closed network. */
function domainOf(name: DomainName): string {
  return findOwnerDomain(name) ?? name
}
