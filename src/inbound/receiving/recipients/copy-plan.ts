/**
 * Plans who gets a copy of an inbound message, and what its trace fields will say, as far as it is known before the
 * message is authenticated. Pure.
 */
import { uuidv7 } from '../../../base/platform/ids.js'
import type { ReceivedMessage } from '../authentication/received-message.js'
import type { TraceFacts } from '../authentication/trace-fields.js'
import type { Destinations, InboundDestination } from './destinations.js'

export interface PlannedCopy {
  readonly destination: InboundDestination
  /** Its `id` is the id of the copy. */
  readonly trace: TraceFacts
}

export interface InboundCopyPlan {
  /** Epoch milliseconds. */
  readonly now: number
  readonly copies: readonly PlannedCopy[]
  /** The addresses that `Destinations` ignores. */
  readonly ignoredAddresses: Destinations['ignoredAddresses']
}

export function planInboundCopies(
  { envelopeFrom, client, protocol, tls }: ReceivedMessage,
  { destinations, ignoredAddresses }: Destinations,
  hostname: string,
  now: number,
): InboundCopyPlan {
  const copies = destinations.map((destination): PlannedCopy => {
    // A list of several would disclose each to the others.
    const [first, ...others] = destination.addresses
    const recipient = others.length === 0 ? (first ?? null) : null
    return {
      destination,
      // The fields are copied one by one: a spread takes longer than all else in here.
      trace: {
        returnPath: envelopeFrom,
        helo: client.helo,
        address: client.address,
        hostname,
        protocol,
        tls,
        now,
        id: uuidv7(now),
        recipient,
      },
    }
  })
  return { now, copies, ignoredAddresses }
}

/** The copy of mail that has only one. */
export interface OnlyMail {
  readonly workspaceId: string
  readonly trace: TraceFacts
}

export function findOnlyMail({ copies: [first, ...others] }: InboundCopyPlan): OnlyMail | null {
  if (first === undefined || others.length > 0 || first.destination.kind !== 'mail') return null
  return { workspaceId: first.destination.workspaceId, trace: first.trace }
}
