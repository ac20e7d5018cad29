/**
 * The records of sessions: what a browser holds after a sign-in. Its cookie has a token of 256 random bits. We store
 * only the SHA-256 of the token, so a copy of the database opens no session.
 *
 * A session ends after `ui.session_idle` without a request, and `ui.session_max` after its sign-in. A row past its
 * time is invalid, even if it is still there.
 */
import { createHash } from 'node:crypto'
import { randomSecret, uuidv7 } from '../../../base/platform/ids.js'
import type { Store } from '../../../base/storage/db/database.js'
import { NO_LIMIT } from '../../../base/storage/db/paging.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

/** Sessions of one user. A further one ends the oldest. */
const MAX_SESSIONS = 50
/** Characters of a browser's name that are stored. */
const MAX_USER_AGENT = 200

type SessionRow = Tables['sessions']

/** Milliseconds until a session ends. */
export interface SessionTimes {
  /** The longest time since its last request. */
  readonly idle: number
  /** The longest time since the sign-in. */
  readonly max: number
}

export interface NewSession {
  /** The token for the cookie. We store it nowhere. */
  readonly token: string
  readonly row: SessionRow
}

/** The browser that makes a request. */
export interface Client {
  readonly remoteAddress: string
  readonly userAgent: string
}

interface SessionRequest extends Client {
  readonly userId: string
  /** Milliseconds until the session ends in any case. */
  readonly lifetime: number
  readonly now: number
}

export function buildSession({ userId, userAgent, remoteAddress, lifetime, now }: SessionRequest): NewSession {
  const token = generateToken()
  return {
    token,
    row: {
      id: `ses_${uuidv7(now)}`,
      user_id: userId,
      token_hash: hashToken(token),
      created_at: now,
      last_used_at: now,
      expires_at: now + lifetime,
      user_agent: userAgent.slice(0, MAX_USER_AGENT).replace(/[\p{Cc}\p{Cs}]/gu, ' '),
      ip_address: remoteAddress,
    },
  }
}

export function generateToken(): string {
  return randomSecret(32).toString('base64url')
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

const insertRow = prepareWrite<SessionRow>(({ db, slots }) =>
  db
    .insertInto('sessions')
    .values(
      slots(['id', 'user_id', 'token_hash', 'created_at', 'last_used_at', 'expires_at', 'user_agent', 'ip_address']),
    ),
)

const removeBeyond = prepareWrite<{ userId: string; kept: number }>(({ db, slot }) =>
  db
    .deleteFrom('sessions')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('sessions')
        .select('id')
        .where('user_id', '=', slot('userId'))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(NO_LIMIT)
        .offset(slot('kept')),
    ),
)

/** Also ends the oldest sessions of a user who has too many. */
export function insertSession(row: SessionRow): Write[] {
  return [insertRow(row), removeBeyond({ userId: row.user_id, kept: MAX_SESSIONS })]
}

/** Finds a session by its token, with its user. It also finds one that is past its time. */
export const sessionByToken = prepareRead<{ hash: string }>()(({ db, slot }) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.id', 'sessions.user_id', 'sessions.last_used_at', 'sessions.expires_at'])
    .where('sessions.token_hash', '=', slot('hash')),
)

/** The sessions of a user that have not ended, newest first. */
export const sessionsOfUser = prepareRead<{ userId: string; now: number; idleSince: number }>()(({ db, slot }) =>
  db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_used_at', 'expires_at', 'user_agent', 'ip_address'])
    .where('user_id', '=', slot('userId'))
    .where('expires_at', '>', slot('now'))
    .where('last_used_at', '>', slot('idleSince'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc'),
)

export const touchSession = prepareWrite<{ id: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('sessions')
    .set({ last_used_at: slot('at') })
    .where('id', '=', slot('id')),
)

/** Misses when the user has no such session. */
export const endSession = prepareWrite<{ id: string; userId: string }>(
  ({ db, slot }) => db.deleteFrom('sessions').where('id', '=', slot('id')).where('user_id', '=', slot('userId')),
  1,
)

/** Ends all sessions of a user except one. */
export const endOtherSessions = prepareWrite<{ userId: string; keptId: string }>(({ db, slot }) =>
  db.deleteFrom('sessions').where('user_id', '=', slot('userId')).where('id', '<>', slot('keptId')),
)

/** Ends all sessions of a user. */
export function endAllSessions(userId: string): Write {
  return endOtherSessions({ userId, keptId: '' })
}

const oldSessions = prepareRead<{ now: number }>()(({ db, slot }) =>
  db.selectFrom('sessions').select('id').where('expires_at', '<=', slot('now')).limit(200),
)

const removeSession = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('sessions').where('id', '=', slot('id')),
)

/** Removes some of the sessions past their time. Resolves to whether there may be more. */
export async function removeOldSessions({ read, commit }: Store, now: number): Promise<boolean> {
  const old = await oldSessions(read, { now })
  if (old.length === 0) return false
  await commit(old.map(removeSession))
  return true
}
