/**
 * A *known browser* is one in which a user has signed in. A token in a separate cookie marks it and outlives the
 * session. The token opens nothing. We report a sign-in from a browser without it to the user by mail.
 *
 * A user has at most 20 known browsers. We forget one a year after its last sign-in, and when the password changes.
 */
import type { Store } from '../../../base/storage/db/database.js'
import { NO_LIMIT } from '../../../base/storage/db/paging.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { hashToken } from './session-records.js'

export const BROWSER_LIFETIME = 365 * 86_400_000
const MAX_BROWSERS = 20

const browsersOf = prepareRead<{ userId: string; since: number }>()(({ db, slot }) =>
  db
    .selectFrom('known_browsers')
    .select('token_hash')
    .where('user_id', '=', slot('userId'))
    .where('last_used_at', '>', slot('since')),
)

interface BrowserUse {
  readonly userId: string
  /** Null means that the browser has no token. */
  readonly token: string | null
  readonly now: number
}

/** The result `first` means that the user is known in no browser. */
export async function recognizeBrowser(
  read: Read,
  { userId, token, now }: BrowserUse,
): Promise<'known' | 'new' | 'first'> {
  const known = await browsersOf(read, { userId, since: now - BROWSER_LIFETIME })
  if (known.length === 0) return 'first'
  const hash = token === null ? null : hashToken(token)
  return known.some(({ token_hash: other }) => other === hash) ? 'known' : 'new'
}

const storeBrowser = prepareWrite<{ userId: string; hash: string; now: number }>(({ db, slot }) =>
  db
    .insertInto('known_browsers')
    .values({ user_id: slot('userId'), token_hash: slot('hash'), last_used_at: slot('now') })
    .onConflict((oc) => oc.columns(['user_id', 'token_hash']).doUpdateSet({ last_used_at: slot('now') })),
)

const removeBeyond = prepareWrite<{ userId: string; kept: number }>(({ db, slot }) =>
  db
    .deleteFrom('known_browsers')
    .where('user_id', '=', slot('userId'))
    .where('token_hash', 'in', (eb) =>
      eb
        .selectFrom('known_browsers')
        .select('token_hash')
        .where('user_id', '=', slot('userId'))
        .orderBy('last_used_at', 'desc')
        .limit(NO_LIMIT)
        .offset(slot('kept')),
    ),
)

/** Also forgets the least recently used browsers beyond the limit. */
export function rememberBrowser(userId: string, token: string, now: number): Write[] {
  return [storeBrowser({ userId, hash: hashToken(token), now }), removeBeyond({ userId, kept: MAX_BROWSERS })]
}

const removeOthers = prepareWrite<{ userId: string; kept: string }>(({ db, slot }) =>
  db.deleteFrom('known_browsers').where('user_id', '=', slot('userId')).where('token_hash', '<>', slot('kept')),
)

/** Forgets all browsers of a user except the one with the token. Null forgets all of them. */
export function forgetBrowsers(userId: string, keptToken: string | null): Write {
  return removeOthers({ userId, kept: keptToken === null ? '' : hashToken(keptToken) })
}

const oldBrowsers = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('known_browsers')
    .select(['user_id', 'token_hash'])
    .where('last_used_at', '<=', slot('before'))
    .limit(200),
)

const removeBrowser = prepareWrite<{ user_id: string; token_hash: string }>(({ db, slot }) =>
  db.deleteFrom('known_browsers').where('user_id', '=', slot('user_id')).where('token_hash', '=', slot('token_hash')),
)

/** Removes some of the browsers past their time. Resolves to whether there may be more. */
export async function removeOldBrowsers({ read, commit }: Store, now: number): Promise<boolean> {
  const old = await oldBrowsers(read, { before: now - BROWSER_LIFETIME })
  if (old.length === 0) return false
  await commit(old.map(removeBrowser))
  return true
}
