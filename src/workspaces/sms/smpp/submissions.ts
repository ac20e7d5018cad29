/**
 * The submit_sm parameters of a message (SMPP 3.4, 4.4.1), one set for each segment. Pure.
 *
 * A header in front of the text joins several segments. It has an 8-bit reference (3GPP TS 23.040, 9.2.3.24.1).
 */
import type { SmsMessage } from '../provider.js'
import { encodeGsmOctets, type PduFields } from './pdu.js'

interface SubmissionContext {
  readonly sender: string
  readonly now: number
  /** A number from 0 to 255. Phones join the segments that have the same one. */
  readonly reference: number
}

const USER_DATA_HEADER = 0x40
const FINAL_RECEIPT = 1
const GSM_CODING = 0
const UCS2_CODING = 8
/** SMSCs refuse shorter times. */
const MIN_VALIDITY = 60_000
const MAX_VALIDITY_DAYS = 27

export function buildSubmissions(message: SmsMessage, context: SubmissionContext): readonly PduFields[] {
  const { encoding, segments } = message.text
  const common = {
    service_type: '',
    ...addressSource(context.sender),
    dest_addr_ton: 1,
    dest_addr_npi: 1,
    destination_addr: message.phone.replace(/^\+/, ''),
    validity_period: formatValidity(message.expiresAt - context.now),
    registered_delivery: FINAL_RECEIPT,
    data_coding: encoding === 'gsm' ? GSM_CODING : UCS2_CODING,
  }
  return segments.map((segment, place) => {
    const octets = encoding === 'gsm' ? encodeGsmOctets(segment) : Buffer.from(segment, 'utf16le').swap16()
    if (segments.length === 1) return { ...common, esm_class: 0, short_message: octets }
    const header = Buffer.from([0x05, 0x00, 0x03, context.reference & 0xff, segments.length, place + 1])
    return { ...common, esm_class: USER_DATA_HEADER, short_message: Buffer.concat([header, octets]) }
  })
}

/** Type of number and numbering plan: international E.164, a short code of the network, or a name. */
function addressSource(sender: string): PduFields {
  if (/^\+\d+$/.test(sender)) return { source_addr_ton: 1, source_addr_npi: 1, source_addr: sender.slice(1) }
  const isNumber = /^\d+$/.test(sender)
  return { source_addr_ton: isNumber ? 3 : 5, source_addr_npi: 0, source_addr: sender }
}

/** Writes a relative time, `YYMMDDhhmmss000R` (SMPP 3.4, 7.1.1). */
function formatValidity(remaining: number): string {
  const seconds = Math.ceil(Math.max(remaining, MIN_VALIDITY) / 1000)
  const days = Math.min(Math.floor(seconds / 86_400), MAX_VALIDITY_DAYS)
  const parts = [0, 0, days, Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60]
  return `${parts.map((part) => String(part).padStart(2, '0')).join('')}000R`
}
