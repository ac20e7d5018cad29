/**
 * The limits of attempts to sign in, all in memory.
 *
 * Anyone can use up the attempts of a client address or an account. So three kinds of attempts count separately:
 * those with a session, those with a link by mail, and those in a browser in which the user has signed in before
 * (`known-browsers.ts`). Guesses of others lock none of them out. Wrong codes after the right password have a
 * separate limit.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { PlanLimits } from '../../../base/config/plans.js'
import type { Address } from '../../../base/mail/address.js'
import { addressKeyOf, networkKeyOf } from '../../../base/platform/connections/client-address.js'
import { buildRateRefusal, RateLimit } from '../limits/rate-limit.js'

/** An account, or a mail address without one. */
export interface AccountName {
  /** The address in lower case. */
  readonly email: Address
  readonly userId: string | null
}

const MAX_ACCOUNTS = 100_000
/** Counts of addresses without an account. */
const OTHER_COUNTS = 65_536

/**
 * The same limit for accounts and for addresses without one. They count separately, so attempts at many invented
 * addresses evict no count of an account. Addresses without one share a fixed number of counts, none of which is ever
 * evicted: an address whose count is lost would be known to have no account.
 */
class AccountLimit {
  private readonly accounts: RateLimit
  private readonly others: RateLimit
  private readonly secret = randomBytes(32)

  constructor(limits: PlanLimits) {
    this.accounts = new RateLimit({ limitsOf: () => limits, maxKeys: MAX_ACCOUNTS })
    this.others = new RateLimit({ limitsOf: () => limits, maxKeys: OTHER_COUNTS })
  }

  /** Throws a Refusal `rate-limited`. */
  take({ email, userId }: AccountName, now: number): void {
    if (userId === null) takeAttempt(this.others, this.countOf(email), now)
    else takeAttempt(this.accounts, userId, now)
  }

  /** No one can tell which addresses share a count. */
  private countOf(email: Address): string {
    return String(createHmac('sha256', this.secret).update(email).digest().readUInt16BE())
  }
}

/**
 * Counts attempts by client address. The networks of an IPv6 site count together too, with ten times the limit: each /64
 * counts as one address, and a site may have 65,536 of them.
 */
export class ClientLimit {
  private readonly addresses = limitOf({ requests_per_minute: 30, requests_per_day: 1_000 })
  private readonly sites = limitOf({ requests_per_minute: 300, requests_per_day: 10_000 })

  /** Throws a Refusal `rate-limited`. */
  take(remoteAddress: string, now: number): void {
    const address = addressKeyOf(remoteAddress)
    takeAttempt(this.addresses, address, now)
    if (address.includes(':')) takeAttempt(this.sites, networkKeyOf(remoteAddress) ?? address, now)
  }
}

export class SignInLimits {
  readonly clients = new ClientLimit()
  readonly accounts = new AccountLimit({ requests_per_minute: 10, requests_per_day: 200 })
  /** Its keys name what proved itself: the user of a session or link, or a known browser. */
  readonly proved = limitOf({ requests_per_minute: 10, requests_per_day: 100 })
  /** Counts wrong codes, by user, link or browser. */
  readonly codes = limitOf({ requests_per_minute: 10, requests_per_day: 50 })
  /** Links to set a password that are sent to one mail address. */
  readonly links = new AccountLimit({ requests_per_minute: 3, requests_per_day: 10 })
}

function limitOf(limits: PlanLimits): RateLimit {
  return new RateLimit({ limitsOf: () => limits })
}

/** Throws a Refusal `rate-limited`. */
export function takeAttempt(limit: RateLimit, key: string, now: number): void {
  const state = limit.take(key, now)
  if (!state.allowed) throw buildRateRefusal(state)
}

/** Counts nothing, and throws a Refusal `rate-limited` if no attempt is left. */
export function requireAttempt(limit: RateLimit, key: string, now: number): void {
  const state = limit.peek(key, now)
  if (!state.allowed) throw buildRateRefusal(state)
}
