/**
 * Passwords of people: stored as scrypt (RFC 7914) with N = 2^15, r = 8, p = 1 and a salt of
 * their own; compared in constant time.
 *
 * One costs about a tenth of a second and 32 MB, on the thread pool. So only two are worked
 * on at once and only some wait; whoever comes then is asked to come again. Nobody's guesses
 * can starve the daemon. Where there is no password to compare with, the work is done all
 * the same, so that time tells nobody who has one.
 *
 * Text is normalised (NFKC) first: the same keys on another keyboard give the same password
 * (NIST SP 800-63B section 5.1.1.2).
 */
import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../../mail/refusal.js'
import { randomSecret } from '../../platform/ids.js'
import { waitingLine } from '../../platform/waiting-line.js'

const LOG_N = 15
const R = 8
const P = 1
const SALT = 16
const KEY = 32

const AT_ONCE = 2
const WAITING = 20
const PATIENCE = 5_000

/** In characters (NIST SP 800-63B section 5.1.1.2); tries are counted, so that nobody guesses many. */
export const SHORTEST_PASSWORD = 8
/** In bytes. */
export const LONGEST_PASSWORD = 1_024

export interface Passwords {
  /** Rejects with a Refusal `invalid-parameter` for one that is too short, or `unavailable`. */
  readonly hash: (password: string) => Promise<string>
  /** `stored` null: there is none, and nothing matches. Rejects with a Refusal `unavailable`. */
  readonly matches: (password: string, stored: string | null) => Promise<boolean>
}

export function passwords(): Passwords {
  const line = waitingLine(AT_ONCE, WAITING)

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (!(await line.enter(PATIENCE))) {
      throw new Refusal('unavailable', 'too many passwords are being checked, try again later', { retry_after: 5 })
    }
    try {
      return await work()
    } finally {
      line.leave()
    }
  }

  return {
    hash: async (password) => {
      requireGood(password)
      const salt = randomSecret(SALT)
      const key = await inTurn(() => derived(password, salt))
      return ['scrypt', LOG_N, R, P, salt.toString('base64url'), key.toString('base64url')].join('$')
    },
    matches: async (password, stored) => {
      const { salt, key } = stored === null ? nobodys : parsed(stored)
      const given = await inTurn(() => derived(password, salt))
      return timingSafeEqual(given, key) && stored !== null
    },
  }
}

function requireGood(password: string): void {
  if ([...password.normalize('NFKC')].length >= SHORTEST_PASSWORD) return
  const message = `password: at least ${SHORTEST_PASSWORD} characters`
  throw new Refusal('invalid-parameter', message, { field: 'password' })
}

interface Stored {
  readonly salt: Buffer
  readonly key: Buffer
}

const nobodys: Stored = { salt: Buffer.alloc(SALT), key: Buffer.alloc(KEY) }

/** Others than ours of today are a bug: there is no older form yet. */
function parsed(stored: string): Stored {
  const [, salt, key] = /^scrypt\$15\$8\$1\$([\w-]{22})\$([\w-]{43})$/.exec(stored) ?? []
  if (salt === undefined || key === undefined) throw new Error('a stored password of an unknown form')
  return { salt: Buffer.from(salt, 'base64url'), key: Buffer.from(key, 'base64url') }
}

const options: ScryptOptions = { N: 2 ** LOG_N, r: R, p: P, maxmem: 64 * 1_048_576 }

function derived(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    )
  })
}
