/**
 * The encoding of a text for SMS and its segments (3GPP TS 23.038, TS 23.040). It is the GSM 7-bit default alphabet
 * with its extension table if that has all characters, and otherwise UCS-2. We do not use national language tables.
 */
import type { SmsEncoding } from '../../base/storage/tables/sms-tables.js'

export interface EncodedText {
  readonly text: string
  readonly encoding: SmsEncoding
  /** The text in the pieces that are sent as one message each. */
  readonly segments: readonly string[]
}

/** Each pair of lines begins with the codes 0x00 to 0x0F, and so on. 0x1B is the escape, not a character. */
const BASIC_CHARACTERS =
  '@£$¥èéùìòÇ\nØø\rÅå' +
  'Δ_ΦΓΛΩΠΨΣΘΞÆæßÉ' +
  ' !"#¤%&\'()*+,-./' +
  '0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNO' +
  'PQRSTUVWXYZÄÖÑÜ§' +
  '¿abcdefghijklmno' +
  'pqrstuvwxyzäöñüà'
/** Characters that take an escape and a second septet. */
const EXTENSION_CHARACTERS = '\f^{}\\[~]|€'

const septets: ReadonlyMap<string, number> = new Map([
  ...[...BASIC_CHARACTERS].map((character) => [character, 1] as const),
  ...[...EXTENSION_CHARACTERS].map((character) => [character, 2] as const),
])

/**
 * Septets or 16-bit units of a message, and of one segment of several. The header that joins the segments takes the
 * rest.
 */
const capacities: Readonly<Record<SmsEncoding, { readonly single: number; readonly joined: number }>> = {
  gsm: { single: 160, joined: 153 },
  ucs2: { single: 70, joined: 67 },
}

export function encodeText(text: string): EncodedText {
  const characters = [...text]
  const encoding = characters.every((character) => septets.has(character)) ? 'gsm' : 'ucs2'
  const sizes = characters.map((character) => sizeOf(character, encoding))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const { single, joined } = capacities[encoding]
  return { text, encoding, segments: total <= single ? [text] : splitCharacters(characters, sizes, joined) }
}

function sizeOf(character: string, encoding: SmsEncoding): number {
  return encoding === 'gsm' ? (septets.get(character) ?? 0) : character.length
}

/** Never divides a character: neither an escape from its septet nor a surrogate pair. */
function splitCharacters(characters: readonly string[], sizes: readonly number[], capacity: number): readonly string[] {
  const segments: string[] = []
  let start = 0
  let used = 0
  characters.forEach((_, place) => {
    const size = sizes[place] ?? 0
    if (used + size > capacity) {
      segments.push(characters.slice(start, place).join(''))
      start = place
      used = 0
    }
    used += size
  })
  segments.push(characters.slice(start).join(''))
  return segments
}
