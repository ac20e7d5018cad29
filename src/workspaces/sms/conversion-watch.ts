/**
 * Detects traffic that only costs money: codes that a client requests for numbers with one prefix and that no person
 * enters. The *conversion* is the share of the codes sent to a prefix that were verified.
 *
 * The watch holds a prefix for an hour if a workspace has sent at least 20 codes there in the last hour and too few
 * of them were verified. It judges a code after five minutes, because its recipient may still enter it, so only the
 * other limits bound the codes of the five minutes before a hold. Each request decides for its own prefix, from the
 * newest 500 codes.
 */
import { sql } from 'kysely'
import type { Refusal } from '../../base/mail/refusal.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { HOUR, MINUTE } from '../../base/platform/time-units.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { tryUniqueCommit } from '../../base/storage/db/write.js'
import { recordEvent } from '../../records/events/event-log.js'
import { type HeldPrefix, insertHold, isInForce, type PrefixHold, readNewestHold } from './holds.js'
import { type PlannedSend, SendCharger, type SendLimits } from './send-limits.js'

/** The time in which most recipients enter a code. */
const GRACE = 5 * MINUTE
/** Fewer codes say nothing about a prefix. */
const MIN_JUDGED = 20
const MAX_JUDGED = 500
/**
 * How often a decision is made again after its commit misses. It misses if another request decided, or if the
 * operator released the prefix.
 */
const MAX_DECISIONS = 3

/** The data of the event. Times are ISO 8601. */
export type SmsHeldData = {
  readonly prefix: string
  readonly sent: number
  readonly verified: number
  readonly min_verified_percent: number
  readonly held_at: string
  readonly until_at: string
}

interface Conversion {
  /** Codes that the provider accepted. */
  readonly sent: number
  readonly verified: number
}

const conversionOf = prepareRead<HeldPrefix & { after: number; until: number }>()(({ db, slot }) =>
  db
    .selectFrom(
      db
        .selectFrom('sms_codes')
        .select('status')
        .where('workspace_id', '=', slot('workspaceId'))
        .where('prefix', '=', slot('prefix'))
        .where('created_at', '>', slot('after'))
        .where('created_at', '<=', slot('until'))
        .orderBy('created_at', 'desc')
        .limit(MAX_JUDGED)
        .as('judged'),
    )
    .select(({ fn }) => [
      fn
        .countAll<number>()
        .filterWhere('status', 'not in', [sql.lit('sending' as const), sql.lit('void' as const)])
        .as('sent'),
      fn
        .countAll<number>()
        .filterWhere('status', '=', sql.lit('verified' as const))
        .as('verified'),
    ]),
)

function isHoldDue({ sent, verified }: Conversion, minPercent: number): boolean {
  return sent >= MIN_JUDGED && verified * 100 < minPercent * sent
}

export class ConversionWatch {
  constructor(
    private readonly store: Store,
    private readonly log: Pick<Log, 'warn'>,
    private readonly settings: () => { readonly limits: SendLimits },
    private readonly charger = new SendCharger(store.read, settings),
  ) {}

  /**
   * Resolves to the reason why no code is sent to the prefix now, or to null if one may be sent. Places a hold if it
   * is due.
   */
  async findHold(send: PlannedSend): Promise<Refusal | null> {
    const { read } = this.store
    const { min_verified_percent: minPercent } = this.settings().limits
    if (minPercent === 0) return null
    for (let decision = 0; decision < MAX_DECISIONS; decision += 1) {
      const newest = await readNewestHold(read, send)
      if (newest !== undefined && isInForce(newest, send.now)) return this.charger.findRefusal(send)
      const since = Math.max(send.now - HOUR, newest?.released_at ?? 0)
      const conversion = await readConversion(read, send, since)
      if (!isHoldDue(conversion, minPercent)) return null
      if (await this.placeHold(send, conversion, since)) return this.charger.findRefusal(send)
    }
    return null
  }

  /**
   * Resolves to whether the hold was placed. It is not if another request has placed one, or if the operator has
   * released one since.
   */
  private async placeHold(
    { workspaceId, prefix, now }: PlannedSend,
    { sent, verified }: Conversion,
    since: number,
  ): Promise<boolean> {
    const hold: Omit<PrefixHold, 'released_at'> = {
      ...{ workspace_id: workspaceId, prefix, sent, verified },
      ...{ held_at: now, until_at: now + HOUR },
    }
    const data: SmsHeldData = {
      ...{ prefix, sent, verified, min_verified_percent: this.settings().limits.min_verified_percent },
      ...{ held_at: formatTimestamp(hold.held_at), until_at: formatTimestamp(hold.until_at) },
    }
    const event = { workspaceId, type: 'sms.held', emailId: null, recipient: null, at: now, data } as const
    const commit = this.store.commit([insertHold({ ...hold, since }), recordEvent(event)])
    const isPlaced = await tryUniqueCommit(commit)
    if (isPlaced) this.log.warn({ workspace_id: workspaceId, prefix, sent, verified }, 'codes to a prefix are held')
    return isPlaced
  }
}

async function readConversion(
  read: Read,
  { workspaceId, prefix, now }: PlannedSend,
  after: number,
): Promise<Conversion> {
  const [counts] = await conversionOf(read, { workspaceId, prefix, after, until: now - GRACE })
  return counts ?? { sent: 0, verified: 0 }
}
