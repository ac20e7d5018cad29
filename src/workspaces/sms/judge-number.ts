/** Decides to which phone numbers we may send a code: mobile numbers of the countries that the operator allowed. */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { type PhoneNumber, type PhoneType, parsePhoneNumber } from '../../base/platform/phone-number.js'

/** The destination of a code, and what the limits count. */
export interface PhoneDestination {
  /** E.164, with the plus sign. */
  readonly phone: string
  /** The phone without its last four digits. */
  readonly range: string
  /** The country calling code and the three digits that follow. */
  readonly prefix: string
  /** ISO 3166-1 alpha-2. */
  readonly country: string
}

/** Why we send no code to a number. The interface shows it as `details.reason`. */
type NumberFault =
  | 'not_possible'
  | 'country_not_allowed'
  | 'unallocated'
  | 'premium_rate'
  | 'shared_cost'
  | 'not_mobile'

const rules: Readonly<Record<NumberFault, string>> = {
  not_possible: 'a phone number with a plus sign, the country calling code and the digits of a number of that country',
  country_not_allowed: 'a phone number of a country to which this service sends codes',
  unallocated: 'a phone number of a range that is in use in its country',
  premium_rate: 'a mobile number, not one of a premium rate service',
  shared_cost: 'a mobile number, not one of a service with shared cost',
  not_mobile: 'a mobile number',
}

/** In some countries, the United States among them, a number does not show whether it is a mobile number. */
const mobileTypes: ReadonlySet<PhoneType> = new Set(['MOBILE', 'FIXED_LINE_OR_MOBILE'])

/**
 * Throws a Refusal with the field and `details.reason`. `allowedCountries` are ISO 3166-1 alpha-2 codes in upper
 * case.
 */
export function judgeNumber(text: string, allowedCountries: readonly string[]): PhoneDestination {
  const number = readNumber(text)
  const { e164, callingCode, country } = number
  const fault = findFault(number, allowedCountries)
  if (fault !== null || country === null) throw buildRefusal(fault ?? 'country_not_allowed', text)
  return {
    phone: e164,
    range: e164.slice(0, -4),
    prefix: e164.slice(0, 1 + callingCode.length + 3),
    country,
  }
}

/** Normalizes the number of an earlier code to E.164. It does not ask whether we may send one now. */
export function normalizeNumber(text: string): string {
  return readNumber(text).e164
}

function readNumber(text: string): PhoneNumber {
  const number = parsePhoneNumber(text)
  if (number === null || !number.isPossible) throw buildRefusal('not_possible', text)
  return number
}

/** An unallocated number of a calling code with several countries belongs to none of them. */
function findFault({ country, isValid, type }: PhoneNumber, allowed: readonly string[]): NumberFault | null {
  if (country === null ? isValid : !allowed.includes(country)) return 'country_not_allowed'
  if (!isValid) return 'unallocated'
  if (type === 'PREMIUM_RATE') return 'premium_rate'
  if (type === 'SHARED_COST') return 'shared_cost'
  return type === null || mobileTypes.has(type) ? null : 'not_mobile'
}

function buildRefusal(reason: NumberFault, text: string): Refusal {
  const details = { field: 'phone', value: formatForDisplay(text), reason }
  return new Refusal('invalid-parameter', `phone: must be ${rules[reason]}`, details)
}
