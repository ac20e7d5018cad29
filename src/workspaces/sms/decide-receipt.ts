/**
 * Decides what a receipt changes.
 *
 * The first final state of a part counts. A message is delivered when all of its parts are, and has failed when one
 * of them has. A receipt for the entire message settles the parts that have no final state.
 */
import type { SmsDelivery, SmsPartsTable } from '../../base/storage/tables/sms-tables.js'
import type { Receipt } from './provider.js'

type Part = Pick<SmsPartsTable, 'part' | 'state'>

interface ReportedMessage {
  readonly delivery: SmsDelivery
  readonly parts: readonly Part[]
  /** Null: the receipt is for the entire message. */
  readonly part: number | null
}

interface ReceiptEffect {
  /** The parts that get the state of the receipt: one, or all that have no final state. */
  readonly settles: 'part' | 'parts' | null
  /** The delivery of the code from now on; null: as it is. */
  readonly delivery: Receipt['state'] | null
  /** Parts that are delivered before the receipt. */
  readonly delivered: number
}

/** Null: the commit of the provider's acceptance is not made yet. */
export function decideReceipt(message: ReportedMessage, state: Receipt['state']): ReceiptEffect | null {
  const { delivery, parts, part } = message
  if (delivery === 'sending') return null
  const delivered = parts.filter((each) => each.state === 'delivered').length
  const unsettled = parts.filter((each) => each.state === 'sent')
  const isOpen = delivery === 'sent'
  if (part === null) {
    return { settles: isOpen && unsettled.length > 0 ? 'parts' : null, delivery: isOpen ? state : null, delivered }
  }
  if (!unsettled.some((each) => each.part === part)) return { settles: null, delivery: null, delivered }
  const isLast = delivered === parts.length - 1
  const isFinal = isOpen && (state === 'failed' || isLast)
  return { settles: 'part', delivery: isFinal ? state : null, delivered }
}
