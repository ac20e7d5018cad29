/**
 * Builds one copy of a broadcast for its authors: an ordinary email that is composed like the messages of the
 * broadcast.
 *
 * The values are those of the contact with this address in the audience, else those of the first subscribed contact,
 * else the defaults. Nothing in the copy is tracked. Its unsubscribe link has the token of no recipient, so following
 * it unsubscribes no contact and suppresses no address.
 */

import type { Address } from '../../base/mail/address.js'
import { scanHeader } from '../../base/mail/header-fields.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { buildFramed } from '../../records/messages/frames/message-frame.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import { readMailFooter } from '../../workspaces/accounts/workspace/mail-footer.js'
import { requireAudience } from '../../workspaces/audiences/audiences.js'
import { findContactIds } from '../../workspaces/audiences/contact-list.js'
import { contactById } from '../../workspaces/audiences/contacts.js'
import { findSubscribedContact } from '../../workspaces/audiences/subscribed-contacts.js'
import type { EmailPreparer, PreparedEmail } from '../sending/email-preparer.js'
import { checkSender, type VerifiedDomains } from '../sending/sender-policy.js'
import type { Submission } from '../sending/submitted-message.js'
import type { BroadcastContent } from './broadcast-content.js'
import { requireBroadcast } from './broadcast-list.js'
import type { BroadcastRef } from './broadcast-records.js'
import type { BroadcastComposer } from './compose-broadcast.js'
import type { BroadcastContact, ContactMessages } from './contact-message.js'
import { contentOf } from './send-broadcast.js'

export interface TestCopyDeps {
  readonly read: Read
  readonly domains: VerifiedDomains
  readonly preparer: EmailPreparer
  readonly composing: BroadcastComposer
  readonly contactMessages: ContactMessages
}

interface TestRequest {
  readonly principal: Principal
  readonly ref: BroadcastRef
  readonly to: Address
  readonly now: number
}

/** Rejects with a Refusal: one of `sendBroadcast` about sender, template or content, or one of any email. */
export async function buildTestCopy(deps: TestCopyDeps, request: TestRequest): Promise<PreparedEmail> {
  const { read, composing, preparer } = deps
  const { principal, ref, to, now } = request
  const broadcast = await requireBroadcast(read, ref)
  const { audience_id: audienceId, template_id: templateId } = broadcast
  const content = await contentOf(read, broadcast)
  // This check saves the work of composing. The check of the email follows later.
  await checkSender(principal, content.sender.address, 'From', deps.domains)
  await requireAudience(read, ref.workspaceId, audienceId)
  const contact = await findTestContact(read, ref.workspaceId, audienceId, to)
  const footer = await readMailFooter(read, ref.workspaceId)
  const { frame } = await composing.compose(content, { broadcastId: ref.id, audienceId, footer, isTracked: false })
  const emailId = uuidv7(now)
  const built = deps.contactMessages.build(frame, contact, { emailId, recipientId: uuidv7(now), now })
  const copy = { raw: buildFramed(frame, built.slots), subject: built.subject, toName: built.toName }
  return preparer.prepare(principal, toSubmission(content, copy, { emailId, to, templateId, now }))
}

async function findTestContact(
  read: Read,
  workspaceId: string,
  audienceId: string,
  to: Address,
): Promise<BroadcastContact> {
  const [own] = await findContactIds(read, { workspaceId, audienceId }, to)
  const contact = own === undefined ? undefined : await contactById(read, workspaceId, own)
  const found = contact ?? (await findSubscribedContact(read, workspaceId, audienceId))
  const { first_name, last_name, metadata } = found ?? { first_name: null, last_name: null, metadata: toJson({}) }
  return { email: to, first_name, last_name, metadata }
}

interface Copy {
  readonly raw: Buffer
  readonly subject: string
  readonly toName: string
}

interface TestEmail {
  readonly emailId: string
  readonly to: Address
  readonly templateId: string | null
  readonly now: number
}

function toSubmission(
  { sender, replyTo }: BroadcastContent,
  { raw, subject, toName }: Copy,
  { emailId, to, templateId, now }: TestEmail,
): Submission {
  return {
    ...{ emailId, source: 'rest', templateId, now },
    message: {
      ...{ envelopeFrom: '', envid: null, ret: null },
      recipients: [{ address: to, notify: null, orcpt: null }],
      ...{ smtputf8: true, raw, protocol: 'HTTPS' },
    },
    header: scanHeader(raw),
    summary: { from: [sender], to: [{ address: to, name: toName }], cc: [], replyTo, subject },
    options: { trackOpens: false, trackClicks: false, tags: [], priority: 'normal', scheduledFor: null },
    tracking: { opens: false, clicks: false, skipped: null, writes: [] },
  }
}
