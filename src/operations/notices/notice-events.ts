/**
 * The events that cause notices, in order, and the cursor up to which notices were written. The cursor is in the
 * database, so a restart repeats none.
 */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { readServiceState, setServiceState } from '../../base/storage/db/service-state.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Json, Timestamp } from '../../base/storage/tables/columns.js'
import type { ChecksFailedData, EventPayloads, SendingData } from '../../records/events/payloads.js'
import type { SmsHeldData } from '../../workspaces/sms/conversion-watch.js'
import type { WebhookDisabledData } from '../../workspaces/webhooks/disable-webhook.js'
import type { DomainEventData } from './domain-notice.js'
import type { InvitationEventData } from './invitation-notice.js'

const CURSOR = 'notices_cursor'

const noticeEventTypes = [
  'invitation.created',
  'domain.broken',
  'domain.failed',
  'webhook.disabled',
  'sms.held',
  'service.checks_failed',
  'sending.warned',
  'sending.held',
  'sending.released',
] as const

/** A row of the log; its type says what its data is. */
export type NoticeEvent = { readonly seq: number; readonly workspace_id: string; readonly created_at: Timestamp } & (
  | { readonly type: 'invitation.created'; readonly data: Json<InvitationEventData> }
  | { readonly type: 'domain.broken' | 'domain.failed'; readonly data: Json<DomainEventData> }
  | { readonly type: 'webhook.disabled'; readonly data: Json<WebhookDisabledData> }
  | { readonly type: 'sms.held'; readonly data: Json<SmsHeldData> }
  | { readonly type: 'service.checks_failed'; readonly data: Json<ChecksFailedData> }
  | { readonly type: 'sending.warned' | 'sending.held'; readonly data: Json<SendingData> }
  | { readonly type: 'sending.released'; readonly data: Json<EventPayloads['sending.released']> }
)

/**
 * These are literals, as in the partial index `events_of_notices`, so that SQLite uses it: there are millions of other
 * events.
 */
const isNoticeEvent = sql<boolean>`type in (${sql.join(noticeEventTypes.map((type) => sql.lit(type)))})`

export const noticeEventsAfter = prepareRead<{ seq: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'workspace_id', 'type', 'created_at', 'data'])
    .where(isNoticeEvent)
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(slot('limit'))
    .$castTo<NoticeEvent>(),
)

export async function readCursor(read: Read): Promise<number> {
  return Number((await readServiceState(read, { key: CURSOR }))[0]?.value ?? 0)
}

export function moveCursor(seq: number): Write {
  return setServiceState({ key: CURSOR, value: String(seq) })
}
