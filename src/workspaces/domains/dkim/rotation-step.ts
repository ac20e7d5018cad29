/**
 * The next step of a rotation from the DKIM key that signs to the other one. Pure.
 *
 *   retiring   the key under the idle selector signed until recently: messages under way still need it
 *   replace    the idle selector gets a new key, which the service zone publishes
 *   settling   resolvers may still cache the key that was published there before
 *   unseen     DNS does not show the new key yet (records set by hand: the customer has to change them)
 *   switch     the new key signs from now on; the other one retires and stays published
 *
 * A key that has never signed needs no replacement, so the first rotation of a domain ends as soon as DNS shows the
 * key. The signing key is never removed before the next one is published.
 */
import type { Selector } from '../../../base/storage/tables/domain-tables.js'
import type { DkimKeyRow } from './signing-keys.js'

export type RotationStep =
  | { readonly kind: 'retiring' | 'settling'; readonly selector: Selector; readonly until: number }
  | { readonly kind: 'unseen'; readonly selector: Selector }
  | { readonly kind: 'replace'; readonly selector: Selector }
  | { readonly kind: 'switch'; readonly selector: Selector }

type RotationKey = Pick<DkimKeyRow, 'selector' | 'signing' | 'usable_at' | 'retired_at'>

interface RotationFacts {
  readonly keys: readonly RotationKey[]
  /** Milliseconds for which a key that has signed stays published. */
  readonly retirementTime: number
  /** Whether DNS shows the key of the idle selector. */
  readonly visible: boolean
  readonly now: number
}

/**
 * The selector to which the next rotation moves. If an imported key signs under another selector, both are idle.
 * Then it is the one that has been idle longest.
 */
export function findIdleSelector(keys: readonly Omit<RotationKey, 'usable_at'>[]): Selector {
  const idleSince = (idle: Selector): number => {
    const key = keys.find(({ selector }) => selector === idle)
    if (key === undefined) return 0
    return key.signing === 1 ? Number.POSITIVE_INFINITY : (key.retired_at ?? 0)
  }
  return idleSince('dkim1') <= idleSince('dkim2') ? 'dkim1' : 'dkim2'
}

export function decideRotationStep({ keys, retirementTime, visible, now }: RotationFacts): RotationStep {
  const selector = findIdleSelector(keys)
  const key = keys.find((one) => one.selector === selector)
  if (key === undefined) return { kind: 'replace', selector }
  if (key.retired_at !== null) {
    const until = key.retired_at + retirementTime
    return now < until ? { kind: 'retiring', selector, until } : { kind: 'replace', selector }
  }
  if (now < key.usable_at) return { kind: 'settling', selector, until: key.usable_at }
  return { kind: visible ? 'switch' : 'unseen', selector }
}

/** Tells whether a rotation made this key and the key has not signed yet. DNS need not show such a key. */
export function isIncomingKey({ signing, usable_at, retired_at }: Omit<RotationKey, 'selector'>): boolean {
  return signing === 0 && usable_at > 0 && retired_at === null
}
