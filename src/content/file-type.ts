/**
 * What kind of file it is: by its client's word, else by its name. Pure.
 *
 * A part of a form that says nothing counts as `text/plain` (RFC 7578 section 4.4), and what
 * says that is not told from it: there the name decides, where it knows better.
 */
import { detectMimeType } from 'nodemailer/lib/mime-funcs'

/** What clients say of a file of which they know nothing. */
const UNKNOWN_TYPE = 'application/octet-stream'
const DEFAULT_PART_TYPE = 'text/plain'

/** `said`: a media type, or null. */
export function detectFileType(said: string | null, name: string): string {
  if (said !== null && said !== UNKNOWN_TYPE && said !== DEFAULT_PART_TYPE) return said
  const byName = detectMimeType(name)
  return byName === UNKNOWN_TYPE && said !== null ? said : byName
}
