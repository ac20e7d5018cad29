/**
 * The schemas of values that requests and answers share. Each has a message with its rule;
 * `parse-input.ts` adds the field and the value.
 */
import { z } from 'zod'
import {
  type Address,
  type DomainName,
  explainAddress,
  formatForDisplay,
  tryParseAddress,
  tryParseDomainName,
  tryParseForeignAddress,
} from '../../../../base/mail/address.js'
import { explainSurrogate } from '../../../../base/mail/address-characters.js'
import { Refusal, type RefusalKind } from '../../../../base/mail/refusal.js'
import { parseNetwork } from '../../../../base/platform/ip-address.js'
import { DAY } from '../../../../base/platform/time-units.js'
import { parseTimestamp } from '../../../../outbound/sending/schedule.js'
import { emailIdForm } from '../../../../outbound/tracking/hit.js'
import { MAX_PASSWORD_BYTES } from '../../../../workspaces/accounts/people/passwords.js'
import { addressIssue } from './parse-input.js'

/** Characters of an address or domain name. In U-labels, none has more. */
const MAX_ADDRESS_LENGTH = 320
const MAX_URL = 2_048
/** Characters of a network or a moment. */
const MAX_SHORT_TEXT = 64

/** A text that is parsed into a value if it is not too long, and refused with the rule otherwise. */
function textSchema<T>(
  allowed: string,
  maxLength: number,
  parse: (given: string) => T | null,
  params: object = {},
  explain: (given: string) => string = () => allowed,
): z.ZodType<T, string> {
  return z.string(allowed).transform((given, context): T => {
    const value = given.length > maxLength ? null : parse(given)
    if (value !== null) return value
    context.addIssue({ code: 'custom', message: explain(given), params: { ...params } })
    return z.NEVER
  })
}

const addressRule = 'allowed: a mail address, local@domain'
const explainRule = (given: string): string => explainAddress(given, addressRule)

export const address: z.ZodType<Address, string> = textSchema(
  addressRule,
  MAX_ADDRESS_LENGTH,
  tryParseForeignAddress,
  addressIssue,
  explainRule,
)

/** An address that mail is sent from. */
export const senderAddress: z.ZodType<Address, string> = textSchema(
  addressRule,
  MAX_ADDRESS_LENGTH,
  tryParseAddress,
  addressIssue,
  explainRule,
)

/**
 * An address in the query of a URL, where `+` means a blank. No address has an unquoted blank, so a
 * blank is read as a plus sign that was not encoded.
 */
export const addressInQuery: z.ZodType<Address, string> = textSchema(
  addressRule,
  MAX_ADDRESS_LENGTH,
  (given) => tryParseForeignAddress(given) ?? tryParseForeignAddress(given.replaceAll(' ', '+')),
  addressIssue,
  explainRule,
).meta({ example: 'bob@example.com' })

export const domainName: z.ZodType<DomainName, string> = textSchema(
  'allowed: a domain name',
  MAX_ADDRESS_LENGTH,
  tryParseDomainName,
  {},
  (given) => explainAddress(`@${given}`, 'allowed: a domain name'),
)

/** A network in CIDR notation. */
export const network: z.ZodType<string, string> = textSchema(
  'allowed: an IPv4 or IPv6 address, or a network such as 192.0.2.0/24',
  MAX_SHORT_TEXT,
  (given) => parseNetwork(given)?.text ?? null,
)

/** Epoch milliseconds. */
export const moment: z.ZodType<number, string> = textSchema(
  'allowed: ISO 8601 with an offset or Z, such as 2030-01-31T09:00:00Z',
  MAX_SHORT_TEXT,
  parseTimestamp,
)

/** A day in UTC, or a moment, which has no duration. `start` belongs to it, `end` does not. */
export const dayOrMoment: z.ZodType<{ readonly start: number; readonly end: number }, string> = textSchema(
  'allowed: ISO 8601, a day such as 2030-01-31 or a moment with an offset or Z, such as 2030-01-31T09:00:00Z',
  MAX_SHORT_TEXT,
  (given) => {
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(given)
    const start = parseTimestamp(isDay ? `${given}T00:00:00Z` : given)
    return start === null ? null : { start, end: isDay ? start + DAY : start }
  },
)

const nameRule = 'allowed: 1 to 100 characters, no control characters'

/** A display name. It must have no lone surrogates, because the database would not return them unchanged. */
export const name: z.ZodType<string, string> = textSchema(
  nameRule,
  100,
  (given) => (given.trim() === '' || /[\p{Cc}\p{Cs}]/u.test(given) ? null : given),
  {},
  (given) => explainSurrogate(given) ?? nameRule,
)

/** The URL of a picture. It must have no credentials, and a page must not be able to execute it. */
export const httpsUrl: z.ZodType<string, string> = textSchema('allowed: an https URL', MAX_URL, (given) => {
  if (/[\s\p{Cc}<>"]/u.test(given) || !URL.canParse(given)) return null
  const { protocol, username, password } = new URL(given)
  return protocol === 'https:' && username === '' && password === '' ? given : null
})

/** A password as entered; its strength is checked when it is set. */
export const password: z.ZodType<string, string> = textSchema(
  `allowed: 1 to ${MAX_PASSWORD_BYTES} bytes`,
  MAX_PASSWORD_BYTES,
  (given) => (given === '' || Buffer.byteLength(given) > MAX_PASSWORD_BYTES ? null : given),
)

/** Digits of the largest bound of all parameters. */
const digits = /^\d{1,15}$/

/** A whole number in a query string, from `min` to `max`, in digits only. */
export function wholeNumber(min: number, max: number): z.ZodType<number, string> {
  const message = `must be a whole number from ${min} to ${max}`
  return z
    .string(message)
    .regex(digits, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .meta({ override: { type: 'integer', minimum: min, maximum: max } })
}

/** A moment in an answer. */
export const timestamp = z.iso.datetime({ precision: 3 })
export const uuid = z.uuid()
/** The id in an answer. It begins with `bc-` for a message of a broadcast. */
export const emailId = z.string().regex(emailIdForm).meta({
  example: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c',
  description: '`bc-` and a UUID if it is a message of a broadcast, else a UUID.',
})

/** The answer to a deletion. `object` is the kind of what is gone, for clients of Resend. */
export function goneSchema<Kind extends string, Id extends z.ZodType>(
  kind: Kind,
  id: Id,
): z.ZodObject<{ object: z.ZodLiteral<Kind>; deleted: z.ZodLiteral<true>; id: Id }, z.core.$strict> {
  return z.strictObject({ object: z.literal(kind), deleted: z.literal(true), id })
}

/** The refusal for an object that does not exist or belongs to another workspace. The answer does not tell which. */
export function notFound(kind: RefusalKind, what: string, id: string): Refusal {
  return new Refusal(kind, `no such ${what}: ${formatForDisplay(id)}`, { id: formatForDisplay(id) })
}
