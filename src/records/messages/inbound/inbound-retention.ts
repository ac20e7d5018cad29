/**
 * Removes old inbound mail in small steps, as `retention.ts` does for sent mail: bytes after `retention.messages`,
 * records after `retention.events`. Unprocessed mail keeps its bytes, however old it is.
 */
import { sql } from 'kysely'
import type { Store } from '../../../base/storage/db/database.js'
import { firstPlace, placeOf } from '../../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { RetentionLimits } from '../retention.js'
import { removeInboundRaw } from './inbound-email.js'
import { removeForwards } from './inbound-forwards.js'

const BATCH_SIZE = 200

export class InboundPurge {
  private raw: RawCursor = { received_at: -1, place: firstPlace() }
  private record: RecordCursor = { received_at: -1, id: '' }

  constructor(
    private readonly store: Store,
    private readonly limits: RetentionLimits,
  ) {}

  /** Takes one small step. Resolves to true if there may be more to do. */
  async step(): Promise<boolean> {
    const { read, commit } = this.store
    const raws = await oldRaw(read, { ...this.raw, before: this.limits.messagesBefore })
    const records = await oldRecords(read, { ...this.record, before: this.limits.eventsBefore })
    this.raw = raws.at(-1) ?? this.raw
    this.record = records.at(-1) ?? this.record
    const gone = records.filter(({ status }) => status !== 'received')
    const writes = [
      ...[...raws.filter(({ status }) => status !== 'received'), ...gone].map(removeInboundRaw),
      ...gone.map(removeForwards),
      ...gone.map(removeRecord),
    ]
    if (writes.length > 0) await commit(writes)
    return raws.length === BATCH_SIZE || records.length === BATCH_SIZE
  }
}

interface RawCursor {
  readonly received_at: number
  /** The position of the row in its table, in the order of the index by age. */
  readonly place: number | string
}

/** The record is null if it is gone. */
const oldRaw = prepareRead<RawCursor & { before: number }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_raw as raw')
    .leftJoin('inbound_emails as email', 'email.id', 'raw.inbound_id')
    .select(['raw.inbound_id as id', 'raw.workspace_id as workspaceId', 'raw.received_at', 'email.status'])
    .select(placeOf('raw', 'inbound_id').as('place'))
    .where('raw.received_at', '<', slot('before'))
    .where(
      sql<boolean>`(raw.received_at, ${placeOf('raw', 'inbound_id')}) > (${slot('received_at')}, ${slot('place')})`,
    )
    .orderBy('raw.received_at')
    .orderBy(placeOf('raw', 'inbound_id'))
    .limit(BATCH_SIZE),
)

interface RecordCursor {
  readonly received_at: number
  readonly id: string
}

const oldRecords = prepareRead<RecordCursor & { before: number }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(['id', 'workspace_id as workspaceId', 'received_at', 'status'])
    .where('received_at', '<', slot('before'))
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '>', eb.tuple(slot('received_at'), slot('id'))))
    .orderBy('received_at')
    .orderBy('id')
    .limit(BATCH_SIZE),
)

/** Removes a record. It may have been deleted a moment ago, so this write never misses. */
const removeRecord = prepareWrite<{ id: string; workspaceId: string }>(({ db, slot }) =>
  db.deleteFrom('inbound_emails').where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)
