/**
 * Browsers in which a user has signed in before. A cookie names the browser and is signed for its user; it opens
 * nothing and only gives the browser a count of attempts of its own, so that guesses of others at the account do not
 * keep the user from signing in.
 *
 * Nothing is stored. Each sign-in makes a new name. A copied cookie shares the attempts of its device.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { randomSecret } from '../../platform/ids.js'

export interface KnownDevices {
  /** The value of the cookie. */
  readonly issue: (userId: string) => string
  /** The name of the device; null: the cookie is of another user, forged, or absent. */
  readonly find: (cookie: string | null, userId: string) => string | null
}

/** `secret`: signs the cookies. */
export function createKnownDevices(secret: KeyObject): KnownDevices {
  const sign = (userId: string, name: string): string =>
    createHmac('sha256', secret)
      .update(JSON.stringify(['known-device', userId, name]))
      .digest('base64url')
  return {
    issue: (userId) => {
      const name = randomSecret(16).toString('base64url')
      return `${name}.${sign(userId, name)}`
    },
    find: (cookie, userId) => {
      const [name = '', signature = ''] = cookie?.split('.', 2) ?? []
      const [given, right] = [Buffer.from(signature), Buffer.from(sign(userId, name))]
      return given.length === right.length && timingSafeEqual(given, right) ? name : null
    },
  }
}
