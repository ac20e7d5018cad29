/**
 * Emails straight into the queue, as a listener would commit them: for tests of large queues.
 *
 * With a running daemon they should be one commit: the daemon is not notified, and its sweep may already be past the
 * entries of a second commit.
 */
import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { Priority } from '../../../src/base/storage/tables/email-tables.js'
import { type EnqueuedEmail, enqueue, type NewEmail } from '../../../src/records/messages/queue/enqueue.js'
import type { TestDaemon } from '../daemon/test-daemon.js'

export interface BulkEmail {
  readonly workspaceId: string
  readonly from?: string
  readonly to: string | readonly string[]
  /** Those of `to` that are suppressed. */
  readonly suppressed?: readonly string[]
  readonly at: number
  readonly priority?: Priority
  readonly scheduledFor?: number | null
  readonly raw?: Buffer
}

const text = Buffer.from('From: app@a.test\r\nSubject: bulk\r\nDate: Thu, 1 Jan 2026 00:00:00 +0000\r\n\r\na line\r\n')

export function bulkEmail(request: BulkEmail): EnqueuedEmail {
  const { workspaceId, from = 'app@a.test', at, priority = 'normal', scheduledFor = null, raw = text } = request
  const to = [request.to].flat()
  const recipients = to.map((address) => ({
    address: parseAddress(address),
    suppressed: request.suppressed?.includes(address) ?? false,
    notify: null,
    orcpt: null,
  }))
  const email: NewEmail = {
    id: uuidv7(at),
    workspace_id: workspaceId,
    source: 'smtp',
    message_id: '<bulk@a.test>',
    envelope_from: '',
    envid: null,
    ret: null,
    from_email: parseAddress(from),
    from_name: '',
    to_emails: toJson(to),
    cc_emails: toJson([]),
    bcc_emails: toJson([]),
    reply_to: toJson([]),
    subject: 'bulk',
    tags: toJson([]),
    track_opens: 0,
    track_clicks: 0,
    tracking_skipped: null,
    has_copies: 0,
    priority,
    smtputf8: 0,
    created_at: at,
    key_id: null,
    template_id: null,
    broadcast_id: null,
    scheduled_for: scheduledFor,
  }
  return enqueue(email, recipients, raw)
}

/** Emails of a commit. */
const PORTION = 200

/** Enqueues many emails in a running daemon, in few commits, without its listeners. */
export async function enqueueAll({ daemon }: TestDaemon, email: BulkEmail, count: number): Promise<void> {
  for (let done = 0; done < count; done += PORTION) {
    const emails = Array.from({ length: Math.min(PORTION, count - done) }, () => bulkEmail(email))
    await daemon.database.commit(emails.flatMap(({ writes }) => writes))
  }
}
