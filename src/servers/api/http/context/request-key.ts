/**
 * Finds the API key of a request where client libraries put it: as the bearer token, as the password of Basic, as the
 * access key id of an AWS signature, or in a separate field.
 *
 * An AWS signature is not checked: the server would need the key itself for that, and it stores only a hash. TLS
 * protects the key, as it does a bearer token.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '../../../../base/mail/refusal.js'

const MAX_KEY_LENGTH = 200
/** Characters of a field with Basic. A user name is not looked at. */
const MAX_BASIC_LENGTH = 1_000

/** Fields that hold nothing but the key. */
const keyFields = ['x-postmark-server-token', 'api-key'] as const

/** Forms of `Authorization` that hold the key: RFC 6750 section 2.1, and those of ZeptoMail and AWS signature version 4. */
const keyForms = [
  /^Bearer[ \t]+([\w~+/.-]+=*)[ \t]*$/i,
  /^Zoho-enczapikey[ \t]+([\w~+/.-]+=*)[ \t]*$/i,
  /^AWS4-HMAC-SHA256[ \t]+Credential=([\w~+.-]+)\//i,
] as const

/** Throws a Refusal `authentication-required` if there is no key, or `bad-credentials` if it has another form. */
export function requireKey(headers: IncomingHttpHeaders): string {
  if (!hasKey(headers)) {
    throw new Refusal('authentication-required', 'no API key: send "Authorization: Bearer" and the key')
  }
  const key = findKey(headers)
  if (key === null) throw new Refusal('bad-credentials', 'Authorization: must be "Bearer" and the key')
  return key
}

/** Null if there is no key, or it has another form. */
export function findKey(headers: IncomingHttpHeaders): string | null {
  const { authorization = '' } = headers
  const key = authorization === '' ? keyFieldOf(headers) : readAuthorization(authorization)
  return key === undefined || key === '' || key.length > MAX_KEY_LENGTH ? null : key
}

function hasKey(headers: IncomingHttpHeaders): boolean {
  return (headers.authorization ?? '') !== '' || keyFieldOf(headers) !== undefined
}

function keyFieldOf(headers: IncomingHttpHeaders): string | undefined {
  const value = keyFields.map((name) => headers[name]).find((given) => given !== undefined)
  return Array.isArray(value) ? value[0] : value
}

function readAuthorization(field: string): string | undefined {
  const direct = keyForms.map((form) => form.exec(field)?.[1]).find((found) => found !== undefined)
  return direct ?? readBasicPassword(field)
}

/** The password of RFC 7617 section 2. */
function readBasicPassword(field: string): string | undefined {
  if (field.length > MAX_BASIC_LENGTH) return undefined
  const encoded = /^Basic[ \t]+([\w+/-]+=*)[ \t]*$/i.exec(field)?.[1]
  if (encoded === undefined) return undefined
  const pair = Buffer.from(encoded, 'base64').toString()
  const colon = pair.indexOf(':')
  return colon === -1 ? undefined : pair.slice(colon + 1)
}
