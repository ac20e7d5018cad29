/**
 * Forgetting mail from outside, in small steps, as `retention.ts` does with mail that was sent:
 * bytes after `retention.messages`, records after `retention.events`. What was not looked at
 * yet keeps its bytes, however old it is.
 */
import type { Database } from '../storage/database.js'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import { removeInboundRaw } from './inbound-email.js'
import type { RetentionLimits } from './retention.js'

const STEP = 200

/** One small step; resolves to whether there may be more to do. */
export async function forgetInboundStep({ read, commit }: Database, limits: RetentionLimits): Promise<boolean> {
  const raws = oldRaw(read, { before: limits.messagesBefore, limit: STEP })
  const records = oldRecords(read, { before: limits.eventsBefore, limit: STEP })
  const writes = [...[...raws, ...records].map(removeInboundRaw), ...records.map(removeRecord)]
  if (writes.length === 0) return false
  await commit(writes)
  return raws.length === STEP || records.length === STEP
}

type Old = { before: number; limit: number }

const oldRaw = prepareRead<Old>()(({ db, slot }) =>
  db
    .selectFrom('inbound_raw as raw')
    .innerJoin('inbound_emails as email', 'email.id', 'raw.inbound_id')
    .select(['raw.inbound_id as id', 'raw.workspace_id as workspaceId'])
    .where('raw.received_at', '<', slot('before'))
    .where('email.status', '<>', 'received')
    .orderBy('raw.received_at')
    .limit(slot('limit')),
)

const oldRecords = prepareRead<Old>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(['id', 'workspace_id as workspaceId'])
    .where('received_at', '<', slot('before'))
    .where('status', '<>', 'received')
    .orderBy('received_at')
    .limit(slot('limit')),
)

/** Somebody may have deleted it a moment ago: that is no miss. */
const removeRecord = prepareWrite<{ id: string; workspaceId: string }>(({ db, slot }) =>
  db.deleteFrom('inbound_emails').where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)
