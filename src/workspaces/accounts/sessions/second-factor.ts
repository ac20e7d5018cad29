/**
 * The second factor of a user: time-based codes (RFC 6238, SHA-1, six digits, steps of 30 s), and recovery codes.
 *
 * A code is valid for its step and one step before and after it, and works once: the commit that accepts a code
 * stores its step, and misses when that step or a later one was accepted before. A recovery code has 80 random bits,
 * is stored as SHA-256, and works once too. We must store the secret itself, because we compute codes from it. Only
 * the owner of the database file can read the file.
 */
import { Secret, TOTP } from 'otpauth'
import { encodeBase32 } from '../../../base/mail/base32.js'
import { randomSecret } from '../../../base/platform/ids.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { hashToken } from './session-records.js'

const PERIOD = 30_000
/** Bytes (RFC 4226 section 4, R6, recommends 20). */
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
const RECOVERY_BYTES = 10
const RECOVERY_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const ISSUER = 'Posthorn'

export const secondFactorOf = prepareRead<{ userId: string }>()(({ db, slot }) =>
  db
    .selectFrom('users')
    .select(['email', 'password_hash', 'totp_secret', 'totp_enabled_at', 'totp_last_step'])
    .where('id', '=', slot('userId')),
)

interface NewSecret {
  /** The secret in base32. */
  readonly secret: string
  /** The URI that an authenticator reads from the picture. */
  readonly uri: string
}

export function generateSecret(email: string): NewSecret {
  const secret = new Secret({ buffer: Uint8Array.from(randomSecret(SECRET_BYTES)).buffer })
  return { secret: secret.base32, uri: new TOTP({ issuer: ISSUER, label: email, secret }).toString() }
}

/** Returns the time step of a code. It is null if the code is wrong now, or not newer than `lastStep`. */
export function findStep(secret: string, code: string, lastStep: number, now: number): number | null {
  const token = code.replaceAll(' ', '')
  if (!/^\d{6}$/.test(token)) return null
  const delta = new TOTP({ secret: Secret.fromBase32(secret) }).validate({ token, timestamp: now, window: 1 })
  if (delta === null) return null
  const step = Math.floor(now / PERIOD) + delta
  return step > lastStep ? step : null
}

/** Misses when this step or a later one was accepted, or when the secret has changed. */
const acceptStep = prepareWrite<{ userId: string; secret: string; step: number }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set({ totp_last_step: slot('step') })
      .where('id', '=', slot('userId'))
      .where('totp_secret', '=', slot('secret'))
      .where('totp_last_step', '<', slot('step')),
  1,
)

/** Misses when the code is unknown or used. */
const useRecoveryCode = prepareWrite<{ userId: string; hash: string; now: number }>(
  ({ db, slot }) =>
    db
      .updateTable('recovery_codes')
      .set({ used_at: slot('now') })
      .where('user_id', '=', slot('userId'))
      .where('code_hash', '=', slot('hash'))
      .where('used_at', 'is', null),
  1,
)

const unusedCode = prepareRead<{ userId: string; hash: string }>()(({ db, slot }) =>
  db
    .selectFrom('recovery_codes')
    .select('code_hash')
    .where('user_id', '=', slot('userId'))
    .where('code_hash', '=', slot('hash'))
    .where('used_at', 'is', null),
)

interface GivenCode {
  readonly userId: string
  /** A time-based code, or a recovery code. */
  readonly code: string
  readonly now: number
}

export interface AcceptedCode {
  readonly kind: 'time' | 'recovery'
  /** Misses when another request accepted the code first. */
  readonly write: Write
}

/** Null means that the code is wrong or used. */
export async function acceptCode(read: Read, given: GivenCode): Promise<AcceptedCode | null> {
  const { userId, code, now } = given
  const [user] = await secondFactorOf(read, { userId })
  if (user === undefined || user.totp_secret === null) return null
  const step = findStep(user.totp_secret, code, user.totp_last_step, now)
  if (step !== null) return { kind: 'time', write: acceptStep({ userId, secret: user.totp_secret, step }) }
  const recovery = code.toLowerCase().replace(/[ -]/g, '')
  if (!/^[a-z2-7]{16}$/.test(recovery)) return null
  const hash = hashToken(recovery)
  if ((await unusedCode(read, { userId, hash })).length === 0) return null
  return { kind: 'recovery', write: useRecoveryCode({ userId, hash, now }) }
}

const unusedCodes = prepareRead<{ userId: string }>()(({ db, slot }) =>
  db
    .selectFrom('recovery_codes')
    .select('code_hash')
    .where('user_id', '=', slot('userId'))
    .where('used_at', 'is', null),
)

/** Counts the unused codes, which are at most as many as we make at once. */
export async function countRecoveryCodes(read: Read, userId: string): Promise<number> {
  return (await unusedCodes(read, { userId })).length
}

/** Replaces a secret that the user has not confirmed. Misses when a second factor is enabled. */
export const storeSecret = prepareWrite<{ userId: string; secret: string }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set({ totp_secret: slot('secret'), totp_last_step: 0 })
      .where('id', '=', slot('userId'))
      .where('totp_enabled_at', 'is', null),
  1,
)

/** Misses when another request stored another secret, or when the second factor is enabled. */
export const enableFactor = prepareWrite<{ userId: string; secret: string; step: number; now: number }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set({ totp_enabled_at: slot('now'), totp_last_step: slot('step') })
      .where('id', '=', slot('userId'))
      .where('totp_secret', '=', slot('secret'))
      .where('totp_enabled_at', 'is', null),
  1,
)

const clearFactor = prepareWrite<{ userId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set({ totp_secret: null, totp_enabled_at: null, totp_last_step: 0 })
      .where('id', '=', slot('userId')),
  1,
)

const removeCodes = prepareWrite<{ userId: string }>(({ db, slot }) =>
  db.deleteFrom('recovery_codes').where('user_id', '=', slot('userId')),
)

const insertCode = prepareWrite<{ userId: string; hash: string }>(({ db, slot }) =>
  db.insertInto('recovery_codes').values({ user_id: slot('userId'), code_hash: slot('hash'), used_at: null }),
)

interface NewCodes {
  /** The codes as people read them, in groups of four. The answer shows them once. */
  readonly codes: readonly string[]
  /** The writes replace all earlier codes. */
  readonly writes: readonly Write[]
}

export function generateRecoveryCodes(userId: string): NewCodes {
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    encodeBase32(randomSecret(RECOVERY_BYTES), RECOVERY_ALPHABET),
  )
  return {
    codes: codes.map((code) => [0, 4, 8, 12].map((at) => code.slice(at, at + 4)).join('-')),
    writes: [removeCodes({ userId }), ...codes.map((code) => insertCode({ userId, hash: hashToken(code) }))],
  }
}

export function disableFactor(userId: string): Write[] {
  return [clearFactor({ userId }), removeCodes({ userId })]
}
