/**
 * Decides which part of a file a request asks for (RFC 9110 sections 13.1.5 and 14). Pure.
 *
 * A field that is malformed, or that asks for several parts, counts for nothing: a server may always answer with the
 * complete file.
 */

interface ByteRange {
  readonly kind: 'range'
  /** The first byte. */
  readonly from: number
  /** The last byte, inside. */
  readonly to: number
}

export type RequestedPart =
  | { readonly kind: 'all' }
  | ByteRange
  /** The file ends before that part begins. */
  | { readonly kind: 'unsatisfiable' }

interface RangeFields {
  readonly range: string | undefined
  readonly ifRange: string | undefined
}

/** 15 digits are exact numbers. */
const rangePattern = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i

/** `etag` is the strong one of the file. A client with a part of another file gets the complete one. */
export function findRequestedPart({ range, ifRange }: RangeFields, size: number, etag: string): RequestedPart {
  const [, first = '', last = ''] = rangePattern.exec(range ?? '') ?? []
  if ((first === '' && last === '') || (ifRange !== undefined && ifRange !== etag)) return { kind: 'all' }
  if (first === '') return toPart(Math.max(0, size - Number(last)), size - 1, size)
  if (last !== '' && Number(last) < Number(first)) return { kind: 'all' }
  return toPart(Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1), size)
}

function toPart(from: number, to: number, size: number): RequestedPart {
  return from < size && from <= to ? { kind: 'range', from, to } : { kind: 'unsatisfiable' }
}
