/** The key of `Authorization: Bearer KEY` (RFC 6750 section 2.1), and of nowhere else. */
import { Refusal } from '../../mail/refusal.js'

const form = /^Bearer +([\w~+/.-]+=*) *$/i
const LONGEST = 200

/** Throws a Refusal: authentication-required without one, bad-credentials for another form. */
export function bearerKey(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw new Refusal('authentication-required', 'no API key: send "Authorization: Bearer" and the key')
  }
  const key = form.exec(authorization)?.[1]
  if (key === undefined || key.length > LONGEST) {
    throw new Refusal('bad-credentials', 'Authorization: allowed is "Bearer" and the key')
  }
  return key
}
