/** The answers to challenges of type http-01 that are under way, as rows, so that each daemon can give them. */
import type { Clock } from '../../base/platform/clock.js'
import { HOUR } from '../../base/platform/time-units.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import type { AcmeChallengesTable } from '../../base/storage/tables/certificate-tables.js'

/** Milliseconds. An order is over long before; a daemon that was killed leaves its answers behind. */
const LIFETIME = HOUR
/** The most answers that are read. Each daemon has one order under way. */
const MAX_ANSWERS = 100

const insertAnswer = prepareWrite<AcmeChallengesTable>(({ db, slots }) => {
  const changed = slots(['answer', 'expires_at'])
  return db
    .insertInto('acme_challenges')
    .values({ ...slots(['token']), ...changed })
    .onConflict((conflict) => conflict.column('token').doUpdateSet(changed))
})

const removeAnswer = prepareWrite<{ token: string }>(({ db, slot }) =>
  db.deleteFrom('acme_challenges').where('token', '=', slot('token')),
)

const removeExpired = prepareWrite<{ now: number }>(({ db, slot }) =>
  db.deleteFrom('acme_challenges').where('expires_at', '<=', slot('now')),
)

const currentAnswers = prepareRead<{ now: number }>()(({ db, slot }) =>
  db
    .selectFrom('acme_challenges')
    .select(['token', 'answer'])
    .where('expires_at', '>', slot('now'))
    .orderBy('expires_at', 'desc')
    .limit(MAX_ANSWERS),
)

export class ChallengeRows {
  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
  ) {}

  /** Every daemon can answer when it resolves. */
  async add(token: string, answer: string): Promise<void> {
    const now = this.clock()
    await this.store.commit([removeExpired({ now }), insertAnswer({ token, answer, expires_at: now + LIFETIME })])
  }

  /** Never rejects: an answer that could not be removed expires. */
  async remove(token: string): Promise<void> {
    await this.store.commit([removeAnswer({ token })]).catch(() => undefined)
  }

  /** The answers by their tokens. */
  async readAll(): Promise<ReadonlyMap<string, string>> {
    const rows = await currentAnswers(this.store.read, { now: this.clock() })
    return new Map(rows.map(({ token, answer }) => [token, answer]))
  }
}
