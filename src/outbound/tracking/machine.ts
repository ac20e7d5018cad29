/**
 * Decides whether an open or a click came from a machine: a *machine* is a program that opens or clicks without a
 * person, such as an image proxy or a scanner. Pure. What a scanner does over several clicks is in `link-sweeps.ts`.
 *
 * An agent alone suffices. Opens soon after the delivery count as a person's, since apps show new mail at once; no
 * person has followed a link within two seconds, or while the message was still being handed over.
 */
import { isBareAgent, isMachineAgent } from './machine-agents.js'
import { isAppleEgress, isGoogleServer } from './machine-networks.js'

/** Who requested a pixel or a link. */
export interface Requester {
  /** Null: the request has no such field. */
  readonly userAgent: string | null
  /** The client's address, also behind our proxies. */
  readonly address: string
}

/** How far the delivery of an email is. */
export interface DeliveryProgress {
  /** Epoch milliseconds of its latest delivery to a recipient; null: none yet. */
  readonly deliveredAt: number | null
  /** An attempt to deliver it is under way. */
  readonly isUnderWay: boolean
}

/** Milliseconds after a delivery. */
const SCAN_TIME = 2_000

export function isMachineOpen(requester: Requester): boolean {
  return isMachineRequester(requester) || isGoogleServer(requester.address)
}

export function isMachineClick(
  requester: Requester,
  { deliveredAt, isUnderWay }: DeliveryProgress,
  at: number,
): boolean {
  if (isMachineRequester(requester)) return true
  return deliveredAt === null ? isUnderWay : at - deliveredAt < SCAN_TIME
}

function isMachineRequester({ userAgent, address }: Requester): boolean {
  if (userAgent === null) return false
  return isMachineAgent(userAgent) || (isBareAgent(userAgent) && isAppleEgress(address))
}
