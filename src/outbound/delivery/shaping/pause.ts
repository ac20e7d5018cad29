/**
 * Decides how long nothing is sent to a provider after it has refused for the rate, or has blocked the address. Pure.
 *
 * After the pause one message goes as a probe. If it is refused too, the next pause is longer by a half or less. A rate
 * limit is usually over in seconds; a block lasts minutes or hours. The first pause for a block is a minute.
 */
import { formatReply, type Reply } from '../../../base/mail/reply.js'

export type PauseKind = 'rate' | 'block'

const FIRST_PAUSE: Readonly<Record<PauseKind, number>> = { rate: 1_000, block: 60_000 }
const MAX_PAUSES: Readonly<Record<PauseKind, number>> = { rate: 600_000, block: 3_600_000 }
const GROWTH: Readonly<Record<PauseKind, number>> = { rate: 1.4, block: 1.5 }
/** A block that outlasts this many probes lasts for hours. */
const PROBES_OF_SHORT_BLOCK = 8
const MAX_SHORT_BLOCK = 600_000
export const MAX_PAUSE = MAX_PAUSES.block

/** Returns milliseconds. `probes` is the number of refused probes since the pause began. */
export function pauseTimeOf(kind: PauseKind, probes: number): number {
  const grown = FIRST_PAUSE[kind] * GROWTH[kind] ** Math.min(probes, 30)
  const isShortBlock = kind === 'block' && probes < PROBES_OF_SHORT_BLOCK
  return Math.round(Math.min(grown, isShortBlock ? MAX_SHORT_BLOCK : MAX_PAUSES[kind]))
}

/** The most characters of a reply that are kept. */
const MAX_REPLY = 400

/** Returns the reply without addresses, because other owners whose mail waits see it too. */
export function quoteForAll(reply: Reply): string {
  const words = formatReply(reply).slice(0, MAX_REPLY).split(' ')
  return words.map((word) => (word.includes('@') ? '(address)' : word)).join(' ')
}
