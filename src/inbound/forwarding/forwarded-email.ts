/**
 * A message that is passed on unchanged, as an email of the service: charged to no workspace, not tracked, in no list,
 * without events, and of low priority, because notices share its lanes. Its bytes are copied from the stored inbound
 * message in the commit that queues it.
 */
import type { Address } from '../../base/mail/address.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { copyInboundRaw } from '../../records/messages/email/raw-message.js'
import { type EnqueuedEmail, enqueue, type NewRecipient } from '../../records/messages/queue/enqueue.js'
import { PASSED_ON_PRIORITY } from '../../records/messages/service-email.js'

interface PassedOn {
  readonly inbound: { readonly id: string; readonly workspace_id: string; readonly size: number }
  /** Octets at its beginning that are left out: our Return-Path field. */
  readonly skipped: number
  /** Fields that are put on top instead, with their CRLF. */
  readonly fields: string
  readonly messageId: string
  readonly subject: string
  /** The sender of the message as it came. A bounce goes back to it. Empty for `<>`. */
  readonly envelopeFrom: Address | ''
  /** The address of ours that passes it on. */
  readonly by: Address
  readonly to: readonly NewRecipient[]
  readonly smtputf8: boolean
  /** The message came with REQUIRETLS (RFC 8689). */
  readonly requiresTls: boolean
  readonly now: number
}

export function enqueuePassedOn({ inbound, skipped, fields, by, to, now, ...message }: PassedOn): EnqueuedEmail {
  const id = uuidv7(now)
  const copy = copyInboundRaw({
    ...{ email_id: id, workspace_id: SERVICE_WORKSPACE, created_at: now },
    ...{ fields, start: skipped + 1, inboundId: inbound.id, inboundWorkspaceId: inbound.workspace_id },
  })
  const size = Buffer.byteLength(fields) + inbound.size - skipped
  return enqueue(
    {
      id,
      workspace_id: SERVICE_WORKSPACE,
      source: 'service',
      message_id: message.messageId,
      envelope_from: message.envelopeFrom,
      ...{ envid: null, ret: null },
      from_email: by,
      from_name: '',
      to_emails: toJson(to.map(({ address }) => address)),
      cc_emails: toJson([]),
      bcc_emails: toJson([]),
      reply_to: toJson([]),
      subject: message.subject,
      tags: toJson([]),
      ...{ track_opens: 0, track_clicks: 0, tracking_skipped: null },
      has_copies: 0,
      priority: PASSED_ON_PRIORITY,
      smtputf8: message.smtputf8 ? 1 : 0,
      tls_required: message.requiresTls ? 'yes' : null,
      created_at: now,
      scheduled_for: null,
      key_id: null,
      template_id: null,
      broadcast_id: null,
    },
    to,
    { size, writes: [copy] },
  )
}
