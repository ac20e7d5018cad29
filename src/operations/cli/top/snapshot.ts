/**
 * Reads what `posthorn top` shows, from the database and from `status.json` of the running daemon.
 *
 * Each read is an index range of bounded length. What takes longer is read less often than the screen is drawn: the last
 * hour every ten seconds, the census of the queue when it has rested.
 */
import { type Clock, formatTimestamp } from '../../../base/platform/clock.js'
import { readDiskSpace } from '../../../base/platform/disk-space.js'
import { type DaemonStatus, isStatusFresh, readDaemonStatus } from '../../../base/platform/processes/daemon-status.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import type { Database } from '../../../base/storage/db/database.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP } from '../../../base/storage/db/stepped-walk.js'
import { listLargest } from '../../../records/messages/queue/entry-groups.js'
import { type QueueCensus, QueueCounter } from '../../../records/messages/queue/queue-census.js'
import { allWorkspaces } from '../../../workspaces/accounts/workspace/workspaces.js'
import { readWebhookBacklog } from '../../../workspaces/webhooks/webhook-backlog.js'
import { type Activity, readActivity } from './activity.js'
import { type BusyDestination, readDestinations } from './destinations.js'

const MAX_AGE = 3_600_000

/** Portions that are read: 1,000 messages. */
const MAX_PORTIONS = 4

const newestInbound = prepareRead<{ time: number; id: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(['id', 'received_at', 'kind', 'spam_status'])
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '<', eb.tuple(slot('time'), slot('id'))))
    .orderBy('received_at', 'desc')
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

/** Seconds of the stretches with shown rates. */
const STRETCHES = [10, 60] as const
const HOUR_SECONDS = 3_600
const HOUR_INTERVAL = 10_000
const MAX_GROUPS = 10

export interface TopSnapshot {
  readonly at: string
  readonly daemon: DaemonState
  /** Shortest stretch first. */
  readonly activity: readonly Omit<Activity, 'senders'>[]
  readonly queue: QueueState
  readonly destinations: { readonly since: string | null; readonly data: readonly BusyDestination[] }
  /** The senders of the last hour, most first. */
  readonly senders: readonly { readonly workspace_id: string; readonly name: string; readonly accepted: number }[]
  /** The verdicts of the last hour. */
  readonly inbound: InboundVerdicts
  readonly webhooks: { readonly enabled: number; readonly failing: number; readonly behind: number }
  readonly disk: {
    readonly free: number
    readonly total: number
    readonly database: number
    readonly wal: number
    readonly spool: number
  }
}

interface DaemonState {
  /** `silent`: the daemon holds the data folder, and its status is more than half a minute old. */
  readonly state: 'running' | 'silent' | 'stopped'
  /** Null if the daemon has written none. */
  readonly status: DaemonStatus | null
}

interface QueueState {
  /** False if it is still being counted, and these are the entries so far. */
  readonly complete: boolean
  readonly counted_at: string
  readonly total: number
  readonly states: QueueCensus['all']['states']
  readonly oldest_at: string | null
  readonly reasons: readonly { readonly reason: string; readonly total: number }[]
}

export class Snapshots {
  private readonly counter: QueueCounter
  private hour: { readonly at: number; readonly activity: Activity } | null = null

  constructor(
    private readonly database: Pick<Database, 'read' | 'measure'>,
    private readonly folder: string,
    private readonly clock: Clock,
  ) {
    this.counter = new QueueCounter(database.read, clock)
  }

  async read(): Promise<TopSnapshot> {
    const { folder } = this
    const { read: db, measure } = this.database
    const now = this.clock()
    const { senders, ...lastHour } = await this.readHour(now)
    const stretches = (await Promise.all(STRETCHES.map((seconds) => readActivity(db, now, seconds)))).map(
      ({ senders: _own, ...one }) => one,
    )
    const { webhooks: enabled, failing, behind } = await readWebhookBacklog(db)
    const { since, destinations } = await readDestinations(db, now)
    return {
      at: formatTimestamp(now),
      daemon: await readDaemon(folder, now),
      activity: [...stretches, lastHour],
      queue: describeQueue(await this.counter.count()),
      destinations: { since: since === null ? null : formatTimestamp(since), data: destinations },
      senders: await nameSenders(db, senders),
      inbound: await readInboundVerdicts(db, now),
      webhooks: { enabled, failing, behind },
      disk: await readDisk(measure, folder),
    }
  }

  private async readHour(now: number): Promise<Activity> {
    if (this.hour === null || now - this.hour.at >= HOUR_INTERVAL)
      this.hour = { at: now, activity: await readActivity(this.database.read, now, HOUR_SECONDS) }
    return this.hour.activity
  }
}

async function readDaemon(folder: string, now: number): Promise<DaemonState> {
  const status = await readDaemonStatus(folder)
  if (!isDataFolderHeld(folder)) return { state: 'stopped', status: null }
  return { state: status !== null && isStatusFresh(status, now) ? 'running' : 'silent', status }
}

function describeQueue({ complete, countedAt, all, reasons }: QueueCensus): QueueState {
  return {
    complete,
    counted_at: formatTimestamp(countedAt),
    total: all.total,
    states: all.states,
    oldest_at: all.total === 0 ? null : formatTimestamp(all.oldestAt),
    reasons: listLargest(reasons, MAX_GROUPS).map(([reason, { total }]) => ({ reason, total })),
  }
}

async function nameSenders(read: Read, senders: Activity['senders']): Promise<TopSnapshot['senders']> {
  if (senders.length === 0) return []
  const names = new Map((await allWorkspaces(read, {})).map(({ id, name }) => [id, name]))
  return senders.map((sender) => ({ ...sender, name: names.get(sender.workspace_id) ?? '' }))
}

async function readDisk(measure: Database['measure'], folder: string): Promise<TopSnapshot['disk']> {
  const { free, total } = await readDiskSpace(folder)
  const { database, wal, spool } = await measure()
  return { free, total, database, wal, spool }
}

/** Counts the spam verdicts of the newest inbound messages of the last hour. */
interface InboundVerdicts {
  readonly clean: number
  readonly suspicious: number
  readonly spam: number
  /** Waiting to be read, or not scored. */
  readonly unscored: number
  /** False if there are more in the last hour than were counted. */
  readonly complete: boolean
}

async function readInboundVerdicts(read: Read, now: number): Promise<InboundVerdicts> {
  const counts = { clean: 0, suspicious: 0, spam: 0, unscored: 0 }
  let place = { time: Number.MAX_SAFE_INTEGER, id: '' }
  for (let portion = 0; portion < MAX_PORTIONS; portion += 1) {
    const page = await newestInbound(read, { ...place, limit: ROW_STEP })
    const recent = page.filter(({ received_at }) => received_at >= now - MAX_AGE)
    for (const { kind, spam_status } of recent) if (kind === 'mail') counts[spam_status ?? 'unscored'] += 1
    const last = page.at(-1)
    if (last === undefined || recent.length < ROW_STEP) return { ...counts, complete: true }
    place = { time: last.received_at, id: last.id }
  }
  return { ...counts, complete: false }
}
