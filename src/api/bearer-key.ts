/** The key of `Authorization: Bearer KEY` (RFC 6750 section 2.1). */
import { Refusal } from '../mail/refusal.js'

const form = /^Bearer +([\w~+/.-]+=*) *$/i

/** Throws a Refusal: authentication-required without one, bad-credentials for another form. */
export function bearerKey(authorization: string): string {
  if (authorization === '') {
    throw new Refusal('authentication-required', 'no API key: send "Authorization: Bearer" and the key')
  }
  const key = form.exec(authorization)?.[1]
  if (key === undefined || key.length > 200) {
    throw new Refusal('bad-credentials', 'Authorization: allowed is "Bearer" and the key')
  }
  return key
}
