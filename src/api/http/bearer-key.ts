/** The key of `Authorization: Bearer KEY` (RFC 6750 section 2.1), and of nowhere else. */
import { Refusal } from '../../mail/refusal.js'

const bearerForm = /^Bearer +([\w~+/.-]+=*) *$/i
const MAX_KEY_LENGTH = 200

/** Throws a Refusal: authentication-required without one, bad-credentials for another form. */
export function parseBearerKey(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw new Refusal('authentication-required', 'no API key: send "Authorization: Bearer" and the key')
  }
  const key = bearerForm.exec(authorization)?.[1]
  if (key === undefined || key.length > MAX_KEY_LENGTH) {
    throw new Refusal('bad-credentials', 'Authorization: allowed is "Bearer" and the key')
  }
  return key
}
