/**
 * Decides the media type of a file: the declared type, or the type of its name. Pure.
 *
 * A form part without a type counts as `text/plain` (RFC 7578 section 4.4), so for `text/plain` the name decides if
 * its extension is known.
 */
import { detectMimeType } from 'nodemailer/lib/mime-funcs'

/** The type that clients declare for a file of unknown type. */
const UNKNOWN_TYPE = 'application/octet-stream'
const DEFAULT_PART_TYPE = 'text/plain'

/** `declared` is a media type. It is null if none was declared. */
export function detectFileType(declared: string | null, name: string): string {
  if (declared !== null && declared !== UNKNOWN_TYPE && declared !== DEFAULT_PART_TYPE) return declared
  const byName = detectMimeType(name)
  return byName === UNKNOWN_TYPE && declared !== null ? declared : byName
}
