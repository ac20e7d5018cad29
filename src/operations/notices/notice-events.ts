/**
 * The events that cause notices, in order within each slot, and the cursor of each slot up to which notices were written.
 * The cursors are in the database, so a restart repeats none.
 */
import { sql } from 'kysely'
import { prepareSlotsWith } from '../../base/storage/db/event-slots.js'
import { LONE_SLOT } from '../../base/storage/db/node-state.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { readServiceState, replaceServiceState } from '../../base/storage/db/service-state.js'
import type { Write } from '../../base/storage/db/write.js'
import { IS_NOTICE } from '../../base/storage/schema/events.js'
import type { Json, Timestamp } from '../../base/storage/tables/columns.js'
import type { ChecksFailedData, EventPayloads, SendingData } from '../../records/events/payloads.js'
import type { SmsHeldData } from '../../workspaces/sms/conversion-watch.js'
import type { WebhookDisabledData } from '../../workspaces/webhooks/disable-webhook.js'
import type { DomainEventData } from './domain-notice.js'
import type { InvitationEventData } from './invitation-notice.js'

/** The key under which the cursor of a slot is stored. */
function keyOf(slot: number): string {
  return slot === LONE_SLOT ? 'notices_cursor' : `notices_cursor_${slot}`
}

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

const isNoticeEvent = sql<boolean>`${sql.raw(IS_NOTICE)}`

export const noticeEventsAfter = prepareRead<{ slot: number; seq: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'workspace_id', 'type', 'created_at', 'data'])
    .where(isNoticeEvent)
    .where('slot', '=', slot('slot'))
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(slot('limit'))
    .$castTo<NoticeEvent>(),
)

/** The slots that have such events. */
export const readNoticeSlots = prepareSlotsWith(isNoticeEvent)

export async function readCursor(read: Read, slot: number): Promise<number> {
  return Number((await readServiceState(read, { key: keyOf(slot) }))[0]?.value ?? 0)
}

/** Misses if the cursor is not `from`: another node has written notices in the meantime. */
export function moveCursor(slot: number, from: number, to: number): Write {
  return replaceServiceState({ key: keyOf(slot), expected: String(from), value: String(to) })
}
