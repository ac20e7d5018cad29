/**
 * Protocol data units of SMPP 3.4 as bytes and as values. Only this file uses the package `smpp`, and only its
 * codec: the sessions of the package never time out a request, stop reading after a fault, and accept a unit that
 * the peer cut off.
 *
 * We read `data_coding` 0 as Latin-1. Receipts are ASCII, and the GSM alphabet would change `_` and `$` in their
 * ids.
 */
import smpp from 'smpp'

/** Bytes of header and body. The largest useful unit is a delivery with a payload of some hundred octets. */
export const MAX_PDU_BYTES = 16_384
/** The four numbers that every unit begins with. */
export const PDU_HEADER_BYTES = 16

const RESPONSE_BIT = 0x8000_0000

const { encodings, errors, PDU } = smpp
encodings.default = 'LATIN1'

export type PduFields = Readonly<Record<string, string | number | Buffer>>

export interface Pdu {
  /**
   * `unknown` is a command that SMPP 3.4 does not have. `malformed` means that a parameter lacks bytes or cannot be
   * read.
   */
  readonly command: string
  readonly isResponse: boolean
  readonly status: number
  readonly sequence: number
  /** Parameters and optional parameters. They are not checked. */
  readonly fields: Readonly<Record<string, unknown>>
}

interface OutgoingPdu {
  readonly command: string
  readonly sequence: number
  /** A unit with another status than 0 has no body. */
  readonly status?: number
  readonly fields?: PduFields
}

/** `bytes` is one complete unit, from its length to its end. Never throws. */
export function decodePdu(bytes: Buffer): Pdu {
  const isResponse = (bytes.readUInt32BE(4) & RESPONSE_BIT) !== 0
  const [status, sequence] = [bytes.readUInt32BE(8), bytes.readUInt32BE(12)]
  try {
    const unit = new PDU(bytes)
    return { command: unit.command, isResponse, status, sequence, fields: Object.fromEntries(Object.entries(unit)) }
  } catch {
    return { command: 'malformed', isResponse, status, sequence, fields: {} }
  }
}

export function encodePdu({ command, sequence, status = 0, fields = {} }: OutgoingPdu): Buffer {
  return new PDU(command, { ...fields, command_status: status, sequence_number: sequence }).toBuffer()
}

/** Encodes in the GSM default alphabet with its extension table, one octet for each septet. */
export function encodeGsmOctets(text: string): Buffer {
  return encodings.ASCII.encode(text)
}

const statusNames: ReadonlyMap<number, string> = new Map(
  Object.entries(errors)
    .toReversed()
    .map(([name, status]) => [status, name]),
)

/** The name of a status, such as `ESME_RTHROTTLED`, or a number in hexadecimal if SMPP has no name for it. */
export function statusNameOf(status: number): string {
  return statusNames.get(status) ?? `status 0x${status.toString(16).padStart(8, '0')}`
}

export const OK_STATUS = 0x00
export const INVALID_LENGTH_STATUS = 0x02
export const INVALID_COMMAND_STATUS = 0x03
export const QUEUE_FULL_STATUS = 0x14
export const THROTTLED_STATUS = 0x58
/** A temporary fault of the receiver, after which the SMSC delivers again. */
export const TEMPORARY_FAULT_STATUS = 0x64
