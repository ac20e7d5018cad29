/**
 * The rate limits of ACME servers, kept by waiting. Pure.
 *
 * Let's Encrypt allows an account 300 orders in 3 hours, a registered domain 50 certificates in a week, and the same
 * name 5 certificates in a week. The limits here are lower, so that other machines of the same owner have room.
 */
import { getDomain } from 'tldts'
import type { DomainName } from '../mail/address.js'

const HOUR = 3_600_000
const WEEK = 7 * 24 * HOUR

interface Limit {
  readonly orders: number
  /** Milliseconds. */
  readonly within: number
}

const accountLimit: Limit = { orders: 200, within: 3 * HOUR }
const domainLimit: Limit = { orders: 40, within: WEEK }
const nameLimit: Limit = { orders: 4, within: WEEK }

/** Validity below which a server surely has other limits for the same name: renewals come every few days. */
const SHORT_LIFETIME = 15 * 24 * HOUR

export class OrderLimits {
  /** Times of orders, oldest first. */
  private readonly ofAccount: number[] = []
  private readonly ofDomain = new Map<string, number[]>()
  private readonly ofName = new Map<DomainName, number[]>()

  record(name: DomainName, at: number): void {
    for (const times of [this.ofAccount, timesOf(this.ofDomain, domainOf(name)), timesOf(this.ofName, name)]) {
      times.push(at)
      times.sort((a, b) => a - b)
      while ((times[0] ?? at) < at - WEEK) times.shift()
    }
  }

  /** The orders for a name within the last week, to be stored. */
  recentOrders(name: DomainName, now: number): readonly number[] {
    return (this.ofName.get(name) ?? []).filter((at) => at > now - WEEK)
  }

  /** The first time from `now` on at which an order for the name keeps all limits. `lifetime`: of its certificate. */
  nextOrderAt(name: DomainName, now: number, lifetime: number | null): number {
    const ofName = lifetime !== null && lifetime < SHORT_LIFETIME ? [] : (this.ofName.get(name) ?? [])
    return Math.max(
      nextTime(this.ofAccount, accountLimit, now),
      nextTime(this.ofDomain.get(domainOf(name)) ?? [], domainLimit, now),
      nextTime(ofName, nameLimit, now),
    )
  }
}

function nextTime(times: readonly number[], { orders, within }: Limit, now: number): number {
  const decisive = times.at(-orders)
  return decisive === undefined ? now : Math.max(now, decisive + within)
}

/** The domain that a registrar sold; the name itself in a closed network. */
function domainOf(name: DomainName): string {
  return getDomain(name, { allowPrivateDomains: true }) ?? name
}

function timesOf<Key>(all: Map<Key, number[]>, key: Key): number[] {
  const times = all.get(key) ?? []
  all.set(key, times)
  return times
}
