/** Counts the spam verdicts of the newest inbound messages of the last hour. */
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP } from '../../../base/storage/db/stepped-walk.js'

const MAX_AGE = 3_600_000
/** Portions that are looked at: 1,000 messages. */
const MAX_PORTIONS = 4

export interface InboundVerdicts {
  readonly clean: number
  readonly suspicious: number
  readonly spam: number
  /** Waiting to be read, or not scored. */
  readonly unscored: number
  /** False: there are more in the last hour than were counted. */
  readonly complete: boolean
}

const newestInbound = prepareRead<{ time: number; id: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(['id', 'received_at', 'kind', 'spam_status'])
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '<', eb.tuple(slot('time'), slot('id'))))
    .orderBy('received_at', 'desc')
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

export function readInboundVerdicts(read: Read, now: number): InboundVerdicts {
  const counts = { clean: 0, suspicious: 0, spam: 0, unscored: 0 }
  let place = { time: Number.MAX_SAFE_INTEGER, id: '' }
  for (let portion = 0; portion < MAX_PORTIONS; portion += 1) {
    const page = newestInbound(read, { ...place, limit: ROW_STEP })
    const recent = page.filter(({ received_at }) => received_at >= now - MAX_AGE)
    for (const { kind, spam_status } of recent) if (kind === 'mail') counts[spam_status ?? 'unscored'] += 1
    const last = page.at(-1)
    if (last === undefined || recent.length < ROW_STEP) return { ...counts, complete: true }
    place = { time: last.received_at, id: last.id }
  }
  return { ...counts, complete: false }
}
