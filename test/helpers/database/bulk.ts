/**
 * Emails straight into the queue, as their door would put them there: for tests of large queues.
 *
 * Under a daemon that runs they want to be one commit: it is not told of them, and the place of
 * its sweep may lie behind what a second commit brings.
 */

import { parseAddress } from '../../../src/mail/address.js'
import { type EnqueuedEmail, enqueue, type NewEmail } from '../../../src/messages/queue/enqueue.js'
import { uuidv7 } from '../../../src/platform/ids.js'
import { toJson } from '../../../src/storage/tables/columns.js'
import type { Priority } from '../../../src/storage/tables/email-tables.js'

export interface BulkEmail {
  readonly workspaceId: string
  readonly from?: string
  readonly to: string | readonly string[]
  /** Those of `to` who are not written to. */
  readonly suppressed?: readonly string[]
  readonly at: number
  readonly priority?: Priority
  readonly scheduledFor?: number | null
  readonly raw?: Buffer
}

const text = Buffer.from('From: app@a.test\r\nSubject: bulk\r\nDate: Thu, 1 Jan 2026 00:00:00 +0000\r\n\r\na line\r\n')

export function bulkEmail(wanted: BulkEmail): EnqueuedEmail {
  const { workspaceId, from = 'app@a.test', at, priority = 'normal', scheduledFor = null, raw = text } = wanted
  const to = [wanted.to].flat()
  const recipients = to.map((address) => ({
    address: parseAddress(address),
    suppressed: wanted.suppressed?.includes(address) ?? false,
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
    priority,
    smtputf8: 0,
    created_at: at,
    key_id: null,
    template_id: null,
    scheduled_for: scheduledFor,
  }
  return enqueue(email, recipients, raw)
}
