/**
 * The limits of attempts to sign in, all in memory.
 *
 * Anyone can use up the attempts of a client address or an account. So three kinds of attempts count separately:
 * those with a session, those with a link by mail, and those in a browser in which the user has signed in before
 * (`known-browsers.ts`). Guesses of others lock none of them out. Wrong codes after the right password have a
 * separate limit.
 */
import type { PlanLimits } from '../../../base/config/plans.js'
import type { Address } from '../../../base/mail/address.js'
import { buildRateRefusal, RateLimit } from '../limits/rate-limit.js'

/** An account, or a mail address without one. */
export interface AccountName {
  /** The address in lower case. */
  readonly email: Address
  readonly userId: string | null
}

const MAX_ACCOUNTS = 100_000

/**
 * The same limit for accounts and for addresses without one. They count separately, so attempts at many invented
 * addresses evict no count of an account.
 */
class AccountLimit {
  private readonly accounts: RateLimit
  private readonly others: RateLimit

  constructor(limits: PlanLimits) {
    this.accounts = new RateLimit({ limitsOf: () => limits, maxKeys: MAX_ACCOUNTS })
    this.others = limitOf(limits)
  }

  /** Throws a Refusal `rate-limited`. */
  take({ email, userId }: AccountName, now: number): void {
    if (userId === null) takeAttempt(this.others, email, now)
    else takeAttempt(this.accounts, userId, now)
  }
}

export class SignInLimits {
  /** Its keys are client addresses, as `addressKeyOf` groups them. */
  readonly clients = limitOf({ requests_per_minute: 30, requests_per_day: 1_000 })
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
