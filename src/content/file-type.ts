/** What kind of file it is: by its client's word, else by its name. Pure. */
import { detectMimeType } from 'nodemailer/lib/mime-funcs/mime-types'

/** What clients say of a file of which they know nothing. */
const UNKNOWN = 'application/octet-stream'

/** `said`: a media type, or null. */
export function fileType(said: string | null, name: string): string {
  return said === null || said === UNKNOWN ? detectMimeType(name) : said
}
