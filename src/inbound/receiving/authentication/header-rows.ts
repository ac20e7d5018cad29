/**
 * The header of a message as mailauth reads it, made of fields that are known already. Only of a message as it was
 * received, whose header ends with its last field: any other is read by mailauth itself.
 */
import type { HeaderRow } from 'mailauth/lib/tools.js'
import type { Header } from '../../../base/mail/header-fields.js'

const LF = 0x0a
const CR = 0x0d

export function listHeaderRows(raw: Buffer, { fields }: Header): HeaderRow[] {
  return fields.map(({ name, start, colon, end }) => ({
    key: name,
    casedKey: raw.toString('latin1', start, colon).trimEnd(),
    line: raw.subarray(start, withoutLineEnds(raw, end)),
  }))
}

/** mailauth drops all line ends at the end of a header. */
function withoutLineEnds(raw: Buffer, end: number): number {
  let at = end
  while (raw[at - 1] === LF || raw[at - 1] === CR) at -= 1
  return at
}
