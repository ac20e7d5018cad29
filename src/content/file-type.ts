/**
 * What kind of file it is: by its client's word, else by its name. Pure.
 *
 * A part of a form that says nothing counts as `text/plain` (RFC 7578 section 4.4), and what
 * says that is not told from it: there the name decides, where it knows better.
 */
import { detectMimeType } from 'nodemailer/lib/mime-funcs/mime-types'

/** What clients say of a file of which they know nothing. */
const UNKNOWN = 'application/octet-stream'
const UNSAID = 'text/plain'

/** `said`: a media type, or null. */
export function fileType(said: string | null, name: string): string {
  if (said !== null && said !== UNKNOWN && said !== UNSAID) return said
  const byName = detectMimeType(name)
  return byName === UNKNOWN && said !== null ? said : byName
}
