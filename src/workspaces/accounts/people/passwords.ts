/**
 * Hashes passwords of users with scrypt (RFC 7914): N = 2^15, r = 8, p = 1 and a random salt. It compares hashes in
 * constant time.
 *
 * A hash takes about a tenth of a second and 32 MB on the thread pool. At most two run and twenty wait. The hasher
 * refuses further requests, so guesses cannot starve the daemon. If there is no stored password, it does the same
 * work, so timing does not reveal that.
 *
 * It normalises a password (NFKC) first, so that all keyboards give the same text (NIST SP 800-63B section 5.1.1.2).
 */
import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../../../base/mail/refusal.js'
import { randomSecret } from '../../../base/platform/ids.js'
import { Semaphore } from '../../../base/platform/semaphore.js'
import { type PasswordOwner, requireStrongPassword } from './password-rule.js'

const LOG_N = 15
const R = 8
const P = 1
const SALT_BYTES = 16
const KEY_BYTES = 32

const MAX_CONCURRENT = 2
const MAX_WAITING = 20
const WAIT_TIMEOUT = 5_000

/** Bytes. */
export const MAX_PASSWORD_BYTES = 1_024

export interface PasswordHasher {
  /** Rejects with a Refusal: `invalid-parameter` for a password that is easy to guess, or `unavailable`. */
  readonly hash: (password: string, owner: PasswordOwner) => Promise<string>
  /** A `stored` of null means that there is no password, so nothing matches. Rejects with a Refusal `unavailable`. */
  readonly matches: (password: string, stored: string | null) => Promise<boolean>
}

export function createPasswordHasher(): PasswordHasher {
  const line = new Semaphore(MAX_CONCURRENT, MAX_WAITING)

  async function runInTurn<T>(work: () => Promise<T>): Promise<T> {
    if (!(await line.acquire(WAIT_TIMEOUT))) {
      throw new Refusal('unavailable', 'too many passwords are being checked, try again later', { retry_after: 5 })
    }
    try {
      return await work()
    } finally {
      line.release()
    }
  }

  return {
    hash: async (password, owner) => {
      requireStrongPassword(password, owner)
      const salt = randomSecret(SALT_BYTES)
      const key = await runInTurn(() => deriveKey(password, salt))
      return ['scrypt', LOG_N, R, P, salt.toString('base64url'), key.toString('base64url')].join('$')
    },
    matches: async (password, stored) => {
      const { salt, key } = stored === null ? dummyHash : parseStoredHash(stored)
      const given = await runInTurn(() => deriveKey(password, salt))
      return timingSafeEqual(given, key) && stored !== null
    },
  }
}

interface StoredHash {
  readonly salt: Buffer
  readonly key: Buffer
}

const dummyHash: StoredHash = { salt: Buffer.alloc(SALT_BYTES), key: Buffer.alloc(KEY_BYTES) }

/** Throws for any other form, which is a bug, because there is only one form. */
function parseStoredHash(stored: string): StoredHash {
  const [, salt, key] = /^scrypt\$15\$8\$1\$([\w-]{22})\$([\w-]{43})$/.exec(stored) ?? []
  if (salt === undefined || key === undefined) throw new Error('a stored password has an unknown format')
  return { salt: Buffer.from(salt, 'base64url'), key: Buffer.from(key, 'base64url') }
}

const scryptOptions: ScryptOptions = { N: 2 ** LOG_N, r: R, p: P, maxmem: 64 * 1_048_576 }

function deriveKey(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, scryptOptions, (error, key) =>
      error === null ? resolve(key) : reject(error),
    )
  })
}
