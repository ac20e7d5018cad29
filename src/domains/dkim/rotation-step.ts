/**
 * What comes next on the way from the DKIM key that signs to the other one. Pure.
 *
 *   retiring   the key under the idle selector signed until lately: messages under way still need it
 *   replace    it gets a new key, which the service zone publishes
 *   settling   resolvers may still remember what stood there before
 *   unseen     DNS does not show the new key yet (records set by hand: the customer's turn)
 *   switch     it signs from now on; the other one retires and stays published
 *
 * A key that never signed needs no replacement: the first rotation of a domain is done as
 * soon as it is seen. What signs is never taken away before the next one is there.
 */
import type { Selector } from '../verification/dns-records.js'
import type { DkimKeyRow } from './signing-keys.js'

export type RotationStep =
  | { readonly kind: 'retiring' | 'settling'; readonly selector: Selector; readonly until: number }
  | { readonly kind: 'unseen'; readonly selector: Selector }
  | { readonly kind: 'replace'; readonly selector: Selector }
  | { readonly kind: 'switch'; readonly selector: Selector }

type Key = Pick<DkimKeyRow, 'selector' | 'signing' | 'usable_at' | 'retired_at'>

export interface RotationFacts {
  readonly keys: readonly Key[]
  /** Milliseconds for which a key that has signed is left in place. */
  readonly retirement: number
  /** Whether DNS shows the key of the idle selector. */
  readonly shown: boolean
  readonly now: number
}

/**
 * The selector that the next rotation moves to. Where an imported key signs under a selector
 * of its own both are idle: then the one that has rested longest.
 */
export function idleSelector(keys: readonly Omit<Key, 'usable_at'>[]): Selector {
  const restedSince = (wanted: Selector): number => {
    const key = keys.find(({ selector }) => selector === wanted)
    if (key === undefined) return 0
    return key.signing === 1 ? Number.POSITIVE_INFINITY : (key.retired_at ?? 0)
  }
  return restedSince('dkim1') <= restedSince('dkim2') ? 'dkim1' : 'dkim2'
}

export function rotationStep({ keys, retirement, shown, now }: RotationFacts): RotationStep {
  const selector = idleSelector(keys)
  const key = keys.find((one) => one.selector === selector)
  if (key === undefined) return { kind: 'replace', selector }
  if (key.retired_at !== null) {
    const until = key.retired_at + retirement
    return now < until ? { kind: 'retiring', selector, until } : { kind: 'replace', selector }
  }
  if (now < key.usable_at) return { kind: 'settling', selector, until: key.usable_at }
  return { kind: shown ? 'switch' : 'unseen', selector }
}

/** A key that a rotation has put there, and that has not signed yet: DNS need not show it. */
export function isArriving({ signing, usable_at, retired_at }: Omit<Key, 'selector'>): boolean {
  return signing === 0 && usable_at > 0 && retired_at === null
}
