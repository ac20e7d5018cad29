/**
 * Which of the recipients that a bounce speaks of is the one that its token was made for? Pure.
 *
 * Named outright, or as the one that it was sent to at first. A bounce of one recipient alone
 * is about ours, whatever it calls it: a forward or an alias that tells nothing of where it
 * came from. Of the several that an alias stands for, the mildest news counts: while one member
 * has the message, it is not lost.
 */
import type { Recipient } from '../../messages/recipients.js'
import type { Bounce, BounceKind } from './report.js'
import { sameAddress, typedAddress } from './report-addresses.js'

const severity: Readonly<Record<BounceKind, number>> = { delivered: 0, delayed: 1, temporary: 2, permanent: 3 }

/** Null: it speaks of others. */
export function bounceAbout(
  bounces: readonly Bounce[],
  recipient: Pick<Recipient, 'address' | 'orcpt'>,
): Bounce | null {
  const names = [typedAddress(recipient.address), typedAddress(recipient.orcpt)].flatMap((name) => name ?? [])
  const isOurs = (address: Bounce['recipient']): boolean =>
    address !== null && names.some((name) => sameAddress(name, address))
  const outright = bounces.filter((bounce) => isOurs(bounce.recipient))
  if (outright.length > 0) return mildest(outright)
  const atFirst = bounces.filter((bounce) => isOurs(bounce.original))
  if (atFirst.length > 0) return mildest(atFirst)
  return bounces.length === 1 ? mildest(bounces) : null
}

function mildest(bounces: readonly Bounce[]): Bounce | null {
  return bounces.toSorted((one, other) => severity[one.kind] - severity[other.kind])[0] ?? null
}
