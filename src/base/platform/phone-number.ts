/**
 * Phone numbers, by the full metadata of libphonenumber: no other file knows that library.
 *
 * The metadata (500 KB) are loaded with this module.
 */
import { parsePhoneNumberFromString } from 'libphonenumber-js/max'

/** The use of the numbers of its range. Null if it is not known. */
export type PhoneType = NonNullable<ReturnType<NonNullable<ReturnType<typeof parsePhoneNumberFromString>>['getType']>>

export interface PhoneNumber {
  /** E.164, with the plus sign. */
  readonly e164: string
  /** The country calling code, without the plus sign. */
  readonly callingCode: string
  /** ISO 3166-1 alpha-2. Null if the number belongs to no country, or to none that is known. */
  readonly country: string | null
  /** Numbers of its country may have its length. */
  readonly isPossible: boolean
  /** Its range is allocated. */
  readonly isValid: boolean
  readonly type: PhoneType | null
}

/** Characters of a text that can be a number with spaces, dots, hyphens and parentheses. */
const MAX_LENGTH = 40

/** Null if it is no number in international form, with a plus sign and the country calling code. */
export function parsePhoneNumber(text: string): PhoneNumber | null {
  if (text.length > MAX_LENGTH || !/^\+[0-9 ().\u00a0-]+$/.test(text)) return null
  const number = parsePhoneNumberFromString(text, { extract: false })
  if (number === undefined) return null
  return {
    e164: number.number,
    callingCode: number.countryCallingCode,
    country: number.country ?? null,
    isPossible: number.isPossible(),
    isValid: number.isValid(),
    type: number.getType() ?? null,
  }
}
