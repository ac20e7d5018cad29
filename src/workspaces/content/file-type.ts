/**
 * The media type of a file: the declared one, else by its name. Pure.
 *
 * A form part without a type counts as `text/plain` (RFC 7578 section 4.4), so for `text/plain` the
 * name decides if its extension is known.
 */
import { detectMimeType } from 'nodemailer/lib/mime-funcs'

/** What clients declare for a file of unknown type. */
const UNKNOWN_TYPE = 'application/octet-stream'
const DEFAULT_PART_TYPE = 'text/plain'

/** `declared`: a media type; null: none. */
export function detectFileType(declared: string | null, name: string): string {
  if (declared !== null && declared !== UNKNOWN_TYPE && declared !== DEFAULT_PART_TYPE) return declared
  const byName = detectMimeType(name)
  return byName === UNKNOWN_TYPE && declared !== null ? declared : byName
}
