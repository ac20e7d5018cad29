/** Events with little in them, of any type, for tests that read the log. */

import type { Write } from '../../../src/base/storage/db/write.js'
import type { EventType } from '../../../src/base/storage/tables/email-tables.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import { isOnPostgres } from './test-engine.js'

export interface StoredEvent {
  readonly workspaceId?: string
  readonly type: EventType | 'webhook.test'
  readonly emailId?: string | null
  readonly recipient?: string | null
  readonly at: number
}

export function buildEventWrite({
  workspaceId = 'ws_1',
  emailId = null,
  recipient = null,
  ...event
}: StoredEvent): Write {
  // The payload is not read back, so none is built.
  return recordEvent({ workspaceId, emailId, recipient, data: {}, ...event } as Parameters<typeof recordEvent>[0])
}

/** The next event has the number behind this one. */
export function numberEventsFrom(seq: number): Write {
  const sql = isOnPostgres()
    ? `select setval(pg_get_serial_sequence('events', 'seq'), ?)`
    : `update sqlite_sequence set seq = ? where name = 'events'`
  return { sql, parameters: [seq] }
}
