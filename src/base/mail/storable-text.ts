/**
 * Text that every database stores as it is: well-formed Unicode without NUL. PostgreSQL refuses other text.
 *
 * What a client sends as a field is refused if it is not such text. What comes in mail or from other servers is made
 * such text where it is stored (`storage/db/prepared.ts`, `storage/tables/columns.ts`).
 */
import { explainSurrogate } from './address-characters.js'

const NUL = '\0'

/** Why the text cannot be stored as it is, as the predicate of a sentence. Null if it can. */
export function explainUnstorable(text: string): string | null {
  if (text.includes(NUL)) return 'has the character NUL (U+0000), which no text has: remove it'
  return explainSurrogate(text)
}

/** The text with U+FFFD instead of each NUL and each half of a surrogate pair. */
export function toStorableText(text: string): string {
  return (text.includes(NUL) ? text.replaceAll(NUL, '\ufffd') : text).toWellFormed()
}

/** An escape of JSON text. `JSON.stringify` writes surrogates as escapes only if they are halves of a pair. */
const anyEscape = /\\(?:u0000|ud[89a-f][\da-f]{2}|[\s\S])/g

/** Does the same to texts within a JSON text that `JSON.stringify` has made. */
export function toStorableJson(json: string): string {
  if (!json.includes('\\u')) return json
  return json.replace(anyEscape, (found) => (found.length > 2 ? '\ufffd' : found))
}
