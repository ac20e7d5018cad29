import fc from 'fast-check'
import { isSupportedCountry } from 'libphonenumber-js/max'
import t from 'tap'
import { isPhoneCountry } from '../../../src/base/platform/phone-countries.js'
import { parsePhoneNumber } from '../../../src/base/platform/phone-number.js'

/** As a person writes it, and what is known of it. Numbers of documentation ranges where a country has them. */
const numbers: readonly (readonly [text: string, e164: string, country: string | null, type: string | null])[] = [
  ['+49 (0) 151 234-567.89', '+4915123456789', 'DE', 'MOBILE'],
  ['+49\u00a0151\u00a023456789', '+4915123456789', 'DE', 'MOBILE'],
  ['+49 30 123456', '+4930123456', 'DE', 'FIXED_LINE'],
  ['+49 180 1 23456', '+49180123456', 'DE', 'SHARED_COST'],
  ['+49 900 12345678', '+4990012345678', 'DE', null],
  ['+43 664 1234567', '+436641234567', 'AT', 'MOBILE'],
  ['+41 78 123 45 67', '+41781234567', 'CH', 'MOBILE'],
  ['+44 7400 123456', '+447400123456', 'GB', 'MOBILE'],
  ['+44 7797 712345', '+447797712345', 'JE', 'MOBILE'],
  ['+44 7781 123456', '+447781123456', 'GG', 'MOBILE'],
  ['+44 7624 123456', '+447624123456', 'IM', 'MOBILE'],
  ['+44 20 7946 0958', '+442079460958', 'GB', 'FIXED_LINE'],
  ['+44 7700 900123', '+447700900123', null, null],
  ['+1 202 555 0123', '+12025550123', 'US', 'FIXED_LINE_OR_MOBILE'],
  ['+1 506 234 5678', '+15062345678', 'CA', 'FIXED_LINE_OR_MOBILE'],
  ['+1 876 234 5678', '+18762345678', 'JM', 'MOBILE'],
  ['+1 900 234 5678', '+19002345678', 'US', 'PREMIUM_RATE'],
  ['+1 800 234 5678', '+18002345678', 'US', 'TOLL_FREE'],
  ['+33 6 12 34 56 78', '+33612345678', 'FR', 'MOBILE'],
  ['+33 899 12 34 56', '+33899123456', 'FR', 'PREMIUM_RATE'],
  ['+39 312 345 6789', '+393123456789', 'IT', 'MOBILE'],
  ['+34 612 34 56 78', '+34612345678', 'ES', 'MOBILE'],
  ['+31 6 12345678', '+31612345678', 'NL', 'MOBILE'],
  ['+48 512 345 678', '+48512345678', 'PL', 'MOBILE'],
  ['+46 70 123 45 67', '+46701234567', 'SE', 'MOBILE'],
  ['+7 916 123-45-67', '+79161234567', 'RU', 'MOBILE'],
  ['+7 701 123 4567', '+77011234567', 'KZ', 'MOBILE'],
  ['+90 501 234 56 78', '+905012345678', 'TR', 'MOBILE'],
  ['+91 98765 43210', '+919876543210', 'IN', 'MOBILE'],
  ['+86 138 1234 5678', '+8613812345678', 'CN', 'MOBILE'],
  ['+81 90 1234 5678', '+819012345678', 'JP', 'MOBILE'],
  ['+62 812-345-678', '+62812345678', 'ID', 'MOBILE'],
  ['+65 9123 4567', '+6591234567', 'SG', 'MOBILE'],
  ['+61 412 345 678', '+61412345678', 'AU', 'MOBILE'],
  ['+55 11 96123-4567', '+5511961234567', 'BR', 'MOBILE'],
  ['+54 9 11 2345-6789', '+5491123456789', 'AR', 'MOBILE'],
  ['+234 803 123 4567', '+2348031234567', 'NG', 'MOBILE'],
  ['+971 50 123 4567', '+971501234567', 'AE', 'MOBILE'],
  ['+800 1234 5678', '+80012345678', null, 'TOLL_FREE'],
  ['+883 5100 1234 5678', '+883510012345678', null, 'VOIP'],
]

t.test('numbers of many countries', async (t) => {
  for (const [text, e164, country, type] of numbers) {
    t.match(parsePhoneNumber(text), { e164, country, type, isPossible: true, isValid: type !== null }, text)
    t.ok(e164.startsWith(`+${parsePhoneNumber(text)?.callingCode}`), text)
  }
})

t.test('what is no number in international form', async (t) => {
  const texts = ['', '+', '+0', '+49', '+1', '0151 23456789', '4915123456789', '+999 123 4567', '++4915123456789']
  const dressed = [
    '+4915123456789 ext. 5',
    '+4915123456789;ext=1',
    'tel:+4915123456789',
    '+49151234567a9',
    ' +4915123456789',
  ]
  const foreign = [
    '+٤٩١٥١٢٣٤٥٦٧٨٩',
    '＋4915123456789',
    '+49151\n23456789',
    '+4915123456789\u0000',
    '+49151\u202e23456789',
  ]
  for (const text of [...texts, ...dressed, ...foreign, `+${'1'.repeat(39)}`, `+49151${' '.repeat(35)}`]) {
    t.equal(parsePhoneNumber(text), null, JSON.stringify(text))
  }
})

t.test('numbers of a length that their country does not have', async (t) => {
  for (const text of ['+1 202 555 012', '+33 6 12 34 56', '+998 90 123 456']) {
    t.equal(parsePhoneNumber(text)?.isPossible ?? false, false, text)
  }
})

t.test('any text gives a number in E.164 or none, and that number is read as itself', async (t) => {
  const characters = fc.constantFrom(...'+0123456789 ().-\u00a0'.split(''))
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: characters, maxLength: 45 }).map((text) => `+${text}`),
    fc.nat(999_999_999).map((digits) => `+49151${digits}`),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const number = parsePhoneNumber(text)
      if (number === null) return
      t.match(number.e164, /^\+[1-9]\d{2,16}$/)
      if (number.isValid) t.equal(parsePhoneNumber(number.e164)?.e164, number.e164)
    }),
  )
})

t.test('countries', async (t) => {
  for (const code of ['DE', 'US', 'GB', 'JE', 'AX']) t.ok(isPhoneCountry(code), code)
  for (const code of ['', 'de', 'XX', 'EU', 'AQ', '001', 'constructor', 'DEU']) t.notOk(isPhoneCountry(code), code)
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    t.equal(isPhoneCountry(code), isSupportedCountry(code), `${code}, as the library has it`)
  }
})
