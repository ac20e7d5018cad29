/**
 * A *replay* delivers the events of a time range to a webhook again. This file makes the request for one.
 *
 * It counts the events in steps and stores the replay with the range of `seq` that holds them. The dispatcher walks
 * through that range. Events that the log no longer holds are not part of it. Where the log is not quite in the order of
 * time, a few more events of the moments before and after are delivered again.
 */
import { sql } from 'kysely'
import { Refusal } from '../../base/mail/refusal.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { DAY } from '../../base/platform/time-units.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { INDEX_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import { tryCommit } from '../../base/storage/db/write.js'
import { type Timestamp, toJson } from '../../base/storage/tables/columns.js'
import type { EventType } from '../../base/storage/tables/email-tables.js'
import type { WebhookReplaysTable } from '../../base/storage/tables/webhook-tables.js'
import { findSeqRange } from '../../records/events/event-times.js'
import { requireEnabledWebhook, type WebhookRef } from './webhook-records.js'

/** Replays of one webhook that are not finished. */
const MAX_REPLAYS = 10
/**
 * Events that a workspace may replay on one day in UTC. Each is a row of `webhook_deliveries`, which quotas do not
 * count.
 */
const MAX_REPLAYED = 1_000_000

interface ReplayRequest {
  readonly from: Timestamp
  /** The first moment after the range. */
  readonly to: Timestamp
  readonly types: readonly EventType[]
}

const insert = prepareWrite<Omit<WebhookReplaysTable, 'node'> & { readonly max: number }>(({ db, slot }) => {
  const columns = ['id', 'workspace_id', 'webhook_id', 'types', 'next_seq', 'last_seq', 'created_at'] as const
  const row = db
    .selectNoFrom((eb) => columns.map((name) => eb.val(slot(name)).as(name)))
    .where(sql<boolean>`exists (select 1 from webhooks where id = ${slot('webhook_id')}
      and workspace_id = ${slot('workspace_id')} and enabled = 1)`)
    .where(
      sql<boolean>`(select count(*) from webhook_replays where webhook_id = ${slot('webhook_id')}) < ${slot('max')}`,
    )
  return db.insertInto('webhook_replays').columns(columns).expression(row)
}, 1)

interface Spending {
  readonly id: string
  readonly workspaceId: string
  /** The number of the day since 1970. */
  readonly day: number
  readonly count: number
  readonly max: number
}

const spend = prepareWrite<Spending>(
  ({ db, slot }) =>
    db
      .updateTable('webhooks')
      .set({
        replayed: sql<number>`(case replay_day when ${slot('day')} then replayed else 0 end) + ${slot('count')}`,
        replay_day: slot('day'),
      })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where(
        sql<boolean>`(select coalesce(sum(replayed), 0) from webhooks where workspace_id = ${slot('workspaceId')}
          and replay_day = ${slot('day')}) + ${slot('count')} <= ${slot('max')}`,
      ),
  1,
)

const replayedOn = prepareRead<{ readonly workspaceId: string; readonly day: number }>()(({ db, slot }) =>
  db
    .selectFrom('webhooks')
    .select((eb) => eb.fn.sum<number | null>('replayed').as('count'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('replay_day', '=', slot('day')),
)

interface ReplayDeps extends Store {
  /** Tests set it in place of `MAX_REPLAYED`. */
  readonly maxReplayed?: number
}

/**
 * Resolves to the number of events that will be delivered. Throws a Refusal: `webhook-not-found`, or `conflict` if
 * the webhook is disabled, if it has `MAX_REPLAYS` already, or if the workspace has replayed `MAX_REPLAYED` events
 * today.
 */
export async function replayRange(
  { read, commit, maxReplayed: max = MAX_REPLAYED }: ReplayDeps,
  webhook: WebhookRef,
  { from, to, types }: ReplayRequest,
  now: Timestamp,
): Promise<number> {
  await requireEnabledWebhook(read, webhook)
  const { workspaceId, id } = webhook
  const { first, end } = await findSeqRange(read, { from, to })
  const last = end - 1
  const count = await countEvents(read, { workspaceId, types, first, last }, max)
  if (count === 0) return 0
  const replay = {
    id: uuidv7(now),
    workspace_id: workspaceId,
    webhook_id: id,
    types: toJson(types),
    next_seq: first,
    last_seq: last,
    created_at: now,
  }
  const day = Math.floor(now / DAY)
  const writes = [insert({ ...replay, max: MAX_REPLAYS }), spend({ id, workspaceId, day, count, max })]
  if (await tryCommit(commit(writes))) return count
  await requireEnabledWebhook(read, webhook)
  const left = max - ((await replayedOn(read, { workspaceId, day }))[0]?.count ?? 0)
  if (count > left) throw buildSpent(left, max)
  const message = `the webhook has ${MAX_REPLAYS} replays that are not finished: wait for one of them`
  throw new Refusal('conflict', message, { id, limit: MAX_REPLAYS })
}

function buildSpent(left: number, limit: number): Refusal {
  const message = `a workspace may replay ${limit} events on one day in UTC, and ${left} are left: choose a shorter range`
  return new Refusal('conflict', message, { left, limit })
}

interface SeqRange {
  readonly workspaceId: string
  /** The `seq` of the first event. The range goes from the first to the last event. */
  readonly first: number
  readonly last: number
}

const countStep = prepareRead<SeqRange & { readonly type: EventType; readonly limit: number }>()(({ db, slot }) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('events')
        .select('seq')
        .where('workspace_id', '=', slot('workspaceId'))
        .where('type', '=', slot('type'))
        .where('seq', '>=', slot('first'))
        .where('seq', '<=', slot('last'))
        .orderBy('seq')
        .limit(slot('limit'))
        .as('step'),
    )
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.max('seq').as('end')]),
)

/** Stops counting beyond `max`. */
async function countEvents(
  read: Read,
  { types, ...range }: SeqRange & { readonly types: readonly EventType[] },
  max: number,
): Promise<number> {
  let total = 0
  for (const type of types) {
    let next: number | null = range.first
    while (next !== null && total <= max) {
      const [step]: CountStep[] = await countStep(read, { ...range, first: next, type, limit: INDEX_STEP })
      total += step?.count ?? 0
      next = step === undefined || step.count < INDEX_STEP ? null : step.end + 1
      await waitForStep()
    }
  }
  return total
}

type CountStep = Awaited<ReturnType<typeof countStep>>[number]
