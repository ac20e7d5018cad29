/**
 * The rows of `broadcast_recipients`: one for each recipient of a broadcast, or of one outcome, in the order of their
 * list, which begins with the latest.
 */
import type { Read } from '../../../base/storage/db/prepared.js'
import { type BroadcastOutcome, listRecipients, type OutcomePlace } from '../../messages/broadcast-outcomes.js'
import { type ExportRange, type ExportSource, formatExportedTime, progressOf } from './export-source.js'

/** The recipients of a step. */
const STEP = 250

const columns = [
  ...['email_id', 'contact_id', 'to', 'status', 'created_at', 'sent_at', 'delivered_at', 'opened_at', 'clicked_at'],
  ...['bounced_at', 'complained_at', 'unsubscribed_at', 'response'],
]

export function createBroadcastSource(read: Read, range: ExportRange): ExportSource {
  const { workspace_id: workspaceId, broadcast_id: broadcastId, outcome, from_at: from, to_at: to } = range
  if (broadcastId === null) throw new Error('an export of recipients has no broadcast')
  return {
    columns,
    readStep: async (cursor) => {
      const after = cursor === null ? undefined : parsePlace(cursor)
      const found = await listRecipients(read, { workspaceId, broadcastId, outcome }, { after, limit: STEP })
      const last = found[STEP - 1]?.place
      return {
        rows: found.map(formatRecipient),
        cursor: last === undefined ? null : `${last.at} ${last.id}`,
        progress: last === undefined ? 1_000 : progressOf(from + to - last.at, from, to),
      }
    },
  }
}

function parsePlace(text: string): OutcomePlace {
  const space = text.indexOf(' ')
  return { at: Number(text.slice(0, space)), id: text.slice(space + 1) }
}

function formatRecipient(row: BroadcastOutcome): readonly string[] {
  const { openedAt, clickedAt, bouncedAt, complainedAt, unsubscribedAt } = row
  const times = [row.createdAt, row.sentAt, row.deliveredAt, openedAt, clickedAt]
  return [
    ...[row.emailId, row.contactId ?? '', row.address, row.status ?? ''],
    ...[...times, bouncedAt, complainedAt, unsubscribedAt].map(formatExportedTime),
    row.response ?? '',
  ]
}
