/**
 * Decides whether a recipient is put off by greylisting (RFC 6647). Pure; times are epoch milliseconds.
 *
 * A tuple of client network, sender and recipient that was not seen before has to wait for `delay`. A client that
 * comes back after it, within `retryWindow`, has passed, and so have all later messages of the tuple. A network of
 * which some tuples have passed is known, and then none of its tuples has to wait. What was not seen for `remember` is
 * forgotten.
 */
interface GreylistTimes {
  /** Milliseconds that a new tuple waits. */
  readonly delay: number
  /** Milliseconds after its first attempt in which a tuple has to come back. */
  readonly retryWindow: number
  /** Milliseconds after its last message for which a tuple or a network stays known. */
  readonly remember: number
}

/** An entry for a tuple or for a network. */
export interface GreylistEntry {
  readonly firstAt: number
  readonly seenAt: number
  /** A tuple has 0 while it waits, and 1 afterwards. A network has the number of its tuples that have passed. */
  readonly passes: number
}

export interface GreylistDecision {
  /** `known`: the tuple or its network had passed before. `passed`: it has waited long enough. */
  readonly kind: 'known' | 'passed' | 'delayed'
  /** Seconds until the tuple passes. 0 unless it is delayed. */
  readonly seconds: number
  /** The entries that have changed. */
  readonly tuple?: GreylistEntry
  readonly network?: GreylistEntry
}

/** Passed tuples that make a network known. */
export const KNOWN_FROM = 5
/** Milliseconds in which a network gains one pass at most: a message with many recipients is one proof. */
const PASS_INTERVAL = 60_000
/** Milliseconds after which the time of a known entry is stored again. */
const REFRESH_INTERVAL = 3_600_000

export function decideGreylisting(
  tuple: GreylistEntry | undefined,
  network: GreylistEntry | undefined,
  times: GreylistTimes,
  now: number,
): GreylistDecision {
  if (network !== undefined && network.passes >= KNOWN_FROM && isRemembered(network, times, now)) {
    return { kind: 'known', seconds: 0, ...(isStale(network, now) ? { network: { ...network, seenAt: now } } : {}) }
  }
  if (tuple === undefined || !isRemembered(tuple, times, now)) {
    const seconds = Math.ceil(times.delay / 1_000)
    return { kind: 'delayed', seconds, tuple: { firstAt: now, seenAt: now, passes: 0 } }
  }
  if (tuple.passes > 0) {
    return { kind: 'known', seconds: 0, ...(isStale(tuple, now) ? { tuple: { ...tuple, seenAt: now } } : {}) }
  }
  const rest = tuple.firstAt + times.delay - now
  if (rest > 0) return { kind: 'delayed', seconds: Math.ceil(rest / 1_000) }
  return {
    kind: 'passed',
    seconds: 0,
    tuple: { ...tuple, seenAt: now, passes: 1 },
    ...countPass(network, times, now),
  }
}

function countPass(
  network: GreylistEntry | undefined,
  times: GreylistTimes,
  now: number,
): Pick<GreylistDecision, 'network'> {
  if (network === undefined || !isRemembered(network, times, now)) {
    return { network: { firstAt: now, seenAt: now, passes: 1 } }
  }
  if (now - network.seenAt < PASS_INTERVAL) return {}
  return { network: { ...network, seenAt: now, passes: network.passes + 1 } }
}

/** An entry from the future, after the clock was set back, is none. */
function isRemembered({ firstAt, seenAt, passes }: GreylistEntry, times: GreylistTimes, now: number): boolean {
  if (firstAt > now || seenAt > now) return false
  return passes === 0 ? now - firstAt <= times.retryWindow : now - seenAt <= times.remember
}

function isStale({ seenAt }: GreylistEntry, now: number): boolean {
  return now - seenAt >= REFRESH_INTERVAL
}
