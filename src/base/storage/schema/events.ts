/**
 * The event log.
 *
 * `seq` is a number of its own in the whole log. On PostgreSQL each writer has a `slot`, in which events become visible in
 * the order of `seq`; between slots, an event may become visible after one with a greater number.
 *
 * Its indexes serve readers of the events of a workspace, of a recipient and of an email, each by type, in the order of
 * `seq`. Readers merge the types, so that no read passes over events that it does not return.
 */

import { isOneOf } from './value-lists.js'

/**
 * The URL of a click if it is short enough for a key, else null: PostgreSQL takes 2,704 bytes of a row into an index.
 * Queries that use the index name it in these words.
 */
export const SHORT_CLICK_URL = `case when octet_length(json_extract(data, '$.url')) <= 2000
  then json_extract(data, '$.url') end`

/** The types of the few events of which the service itself writes mail. */
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

/** Queries name the condition in these words, so that SQLite takes the index: there are millions of other events. */
export const IS_NOTICE = isOneOf(
  'type',
  noticeEventTypes.map((type) => `'${type}'`),
)

/** The events of a workspace in their order. */
const OF_WORKSPACE = 'create index events_of_workspace on events (workspace_id, seq)'
/** SQLite ends each index with the key of the table, so this one is in the order of `seq`. */
const BY_TYPE = 'create index events_by_type on events (workspace_id, type)'

/** Statements in whose place PostgreSQL has others, because it has several slots, and no numbers of rows at the end of an index. */
export const eventIndexesOfPostgres: ReadonlyMap<string, readonly string[]> = new Map([
  [
    OF_WORKSPACE,
    [
      // Reads the events of a workspace in their order, as for webhooks.
      'create index events_of_workspace on events (workspace_id, slot, seq)',
      // Reads the new events of all workspaces in one slot.
      'create index events_of_slot on events (slot, seq)',
    ],
  ],
  [BY_TYPE, ['create index events_by_type on events (workspace_id, type, seq)']],
])

export const events = [
  // What happened, in the order in which each writer has stored it; `data` is the payload.
  `create table events (
    seq integer primary key autoincrement, id text not null, workspace_id text not null, type text not null,
    email_id text, recipient text, created_at integer not null, data text not null,
    slot integer not null default 0) strict`,
  // Reads the events of a workspace in their order, as for webhooks.
  OF_WORKSPACE,
  // Reads the events of a workspace that have one type.
  BY_TYPE,
  // Finds events by recipient. These come in any order: within a block of the log, new entries stay close together.
  `create index events_of_recipient on events ((seq / 131072), workspace_id, recipient collate nocase, type)
    where recipient is not null`,
  // Reads the events of an email.
  'create index events_of_email on events (email_id, type) where email_id is not null',
  // Reads the clicks in messages of a broadcast in their order, without the rows of the table.
  `create index clicks_of_broadcasts on events (workspace_id, json_extract(data, '$.broadcast_id'), seq,
      json_extract(data, '$.machine'), (${SHORT_CLICK_URL}))
    where type = 'email.clicked' and email_id >= 'bc-' and email_id < 'bc.'`,
  // Reads the few events of which the service itself writes mail.
  `create index events_of_notices on events (slot, seq) where ${IS_NOTICE}`,
] as const
