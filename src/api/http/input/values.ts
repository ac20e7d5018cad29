/**
 * The kinds of value that requests and answers share.
 *
 * Each kind says in words what it allows; `input.ts` adds the field and what was found.
 */
import { z } from 'zod'
import { LONGEST_PASSWORD } from '../../../accounts/people/passwords.js'
import { parseNetwork } from '../../../config/places.js'
import { type Address, addressOrNull, type DomainName, domainNameOrNull, shown } from '../../../mail/address.js'
import { Refusal, type RefusalKind } from '../../../mail/refusal.js'
import { momentOf } from '../../../sending/schedule.js'
import { ofAddress } from './input.js'

/** In characters, of an address or a domain name: more than any has in U-labels. */
const LONGEST_NAME = 320
const LONGEST_URL = 2_048
/** Of a network or a moment. */
const LONGEST_PLACE = 64

/** A text that means something: parsed where it is not longer than such texts are, or refused with what is allowed. */
function text<T>(
  allowed: string,
  longest: number,
  parse: (given: string) => T | null,
  params: object = {},
): z.ZodType<T, string> {
  return z.string(allowed).transform((given, context): T => {
    const value = given.length > longest ? null : parse(given)
    if (value !== null) return value
    context.addIssue({ code: 'custom', message: allowed, params: { ...params } })
    return z.NEVER
  })
}

export const address: z.ZodType<Address, string> = text(
  'allowed: a mail address, local@domain',
  LONGEST_NAME,
  addressOrNull,
  ofAddress,
)

/**
 * In the query of a URL, where `+` stands for a blank: no address has a bare blank, so
 * that one in it was meant as the plus sign that somebody forgot to encode.
 */
export const addressInQuery: z.ZodType<Address, string> = text(
  'allowed: a mail address, local@domain',
  LONGEST_NAME,
  (given) => addressOrNull(given) ?? addressOrNull(given.replaceAll(' ', '+')),
  ofAddress,
).meta({ example: 'bob@example.com' })

export const domainName: z.ZodType<DomainName, string> = text('allowed: a domain name', LONGEST_NAME, domainNameOrNull)

/** As CIDR. */
export const network: z.ZodType<string, string> = text(
  'allowed: an IPv4 or IPv6 address, or a network such as 192.0.2.0/24',
  LONGEST_PLACE,
  (given) => parseNetwork(given) ?? null,
)

/** Epoch milliseconds. */
export const moment: z.ZodType<number, string> = text(
  'allowed: ISO 8601 with an offset or Z, such as 2030-01-31T09:00:00Z',
  LONGEST_PLACE,
  momentOf,
)

/** A name that people give. Half of a surrogate pair would come back from the database as something else. */
export const name: z.ZodType<string, string> = text(
  'allowed: 1 to 100 characters, no control characters',
  100,
  (given) => (given.trim() === '' || /[\p{Cc}\p{Cs}]/u.test(given) ? null : given),
)

/** Of somebody's picture: nothing that a page could be made to run, and no secrets in it. */
export const httpsUrl: z.ZodType<string, string> = text('allowed: an https URL', LONGEST_URL, (given) => {
  if (/[\s\p{Cc}<>"]/u.test(given) || !URL.canParse(given)) return null
  const { protocol, username, password } = new URL(given)
  return protocol === 'https:' && username === '' && password === '' ? given : null
})

/** One that somebody gives; whether it is good is judged where it is chosen. */
export const password: z.ZodType<string, string> = text(
  `allowed: 1 to ${LONGEST_PASSWORD} bytes`,
  LONGEST_PASSWORD,
  (given) => (given === '' || Buffer.byteLength(given) > LONGEST_PASSWORD ? null : given),
)

/** A moment in an answer. */
export const timestamp = z.iso.datetime({ precision: 3 })
export const uuid = z.uuid()

/** What is not there, or is another workspace's: nobody is told which. */
export function notFound(kind: RefusalKind, what: string, id: string): Refusal {
  return new Refusal(kind, `no such ${what}: ${shown(id)}`, { id: shown(id) })
}
