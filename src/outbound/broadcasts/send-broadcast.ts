/**
 * Sends a draft, now or later. Everything that could refuse it is checked here. Its content is composed and stored in
 * the commit that changes its state, so later changes of its template have no effect.
 */

import { Refusal } from '../../base/mail/refusal.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import { encodeFrame } from '../../records/messages/frames/encode-frame.js'
import { actorOf, recordAuditEntry } from '../../workspaces/accounts/access/audit-log.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import { readMailFooter } from '../../workspaces/accounts/workspace/mail-footer.js'
import { assertAudienceExists, requireAudience } from '../../workspaces/audiences/audiences.js'
import { findSubscribedContact } from '../../workspaces/audiences/subscribed-contacts.js'
import { templateById } from '../../workspaces/content/templates.js'
import { checkSender, type VerifiedDomains } from '../sending/sender-policy.js'
import type { BroadcastContent } from './broadcast-content.js'
import { countActiveBroadcasts, requireBroadcast } from './broadcast-list.js'
import { type Broadcast, markSending, scheduleDraft } from './broadcast-records.js'
import { buildStateConflict } from './change-broadcast.js'
import type { BroadcastComposer } from './compose-broadcast.js'
import { checkOpensKnown } from './copy-broadcast.js'
import { buildTemplateNotFound } from './draft.js'
import { insertSentContent } from './sent-content.js'

/** The most scheduled or running broadcasts of a workspace: the engine looks at each several times a second. */
const MAX_ACTIVE = 100

export interface SendBroadcastDeps extends Store {
  readonly domains: VerifiedDomains
  readonly composing: BroadcastComposer
}

interface SendRequest {
  readonly principal: Principal
  readonly id: string
  /** Null means now. */
  readonly at: number | null
  readonly now: number
}

/**
 * Rejects with a Refusal: `not-found`; `conflict` if the broadcast is no draft, or if too many others are under way; or
 * what is wrong with its sender, audience, template or content.
 */
export async function sendBroadcast(deps: SendBroadcastDeps, request: SendRequest): Promise<Broadcast> {
  const { read, commit } = deps
  const { principal, id } = request
  const ref = { workspaceId: principal.workspaceId, id }
  const draft = await requireBroadcast(read, ref)
  if (draft.status !== 'draft') throw buildStateConflict(draft, 'only a draft can be sent')
  const writes = await planSend(deps, draft, request)
  if (await tryCommit(commit(writes))) return requireBroadcast(read, ref)
  await requireAudience(read, ref.workspaceId, draft.audience_id)
  const found = await requireBroadcast(read, ref)
  throw buildStateConflict(found, 'the broadcast was changed or sent by another request at the same moment')
}

async function planSend(deps: SendBroadcastDeps, draft: Broadcast, request: SendRequest): Promise<readonly Write[]> {
  const { principal, at, now } = request
  const { id, workspace_id: workspaceId, audience_id: audienceId, version, name, not_opened_of: notOpenedOf } = draft
  await checkActive(deps.read, workspaceId)
  const content = await contentOf(deps.read, draft)
  await checkSender(principal, content.sender.address, 'From', deps.domains)
  await requireSubscribers(deps.read, workspaceId, audienceId)
  if (notOpenedOf !== null) await checkOpensKnown(deps.read, { workspaceId, id: notOpenedOf })
  const footer = await readMailFooter(deps.read, workspaceId)
  const { frame, links } = await deps.composing.compose(content, { broadcastId: id, audienceId, footer })
  const change = { workspaceId, id, version, keyId: principal.keyId, now }
  const details = { name, audience_id: audienceId, scheduled_for: at === null ? null : formatTimestamp(at) }
  return [
    at === null ? markSending(change) : scheduleDraft({ ...change, at }),
    assertAudienceExists({ workspaceId, id: audienceId }),
    ...insertSentContent({ workspaceId, id }, { frame: encodeFrame(frame), links, now }),
    recordAuditEntry({
      workspaceId,
      actor: actorOf(principal),
      action: 'broadcast.sent',
      target: id,
      at: now,
      details,
    }),
  ]
}

async function checkActive(read: Read, workspaceId: string): Promise<void> {
  const count = await countActiveBroadcasts(read, workspaceId)
  if (count < MAX_ACTIVE) return
  const message = `a workspace may have at most ${MAX_ACTIVE} broadcasts that are scheduled, sending or paused`
  throw new Refusal('conflict', message, { limit: MAX_ACTIVE, count })
}

/**
 * Returns the broadcast's own subject and bodies, or those that its template has now. Throws a Refusal
 * `template-not-found`, or `invalid-parameter`.
 */
export async function contentOf(read: Read, broadcast: Broadcast): Promise<BroadcastContent> {
  const { workspace_id: workspaceId, sender, reply_to, template_id: templateId } = broadcast
  const addresses = { sender: parseJson(sender), replyTo: parseJson(reply_to) }
  const { subject, html, text } = templateId === null ? broadcast : await requireTemplate(read, workspaceId, templateId)
  return { ...addresses, subject: subject ?? '', html, text }
}

async function requireTemplate(
  read: Read,
  workspaceId: string,
  id: string,
): Promise<Pick<BroadcastContent, 'subject' | 'html' | 'text'>> {
  const [template] = await templateById(read, { workspaceId, id })
  if (template === undefined) throw buildTemplateNotFound(id)
  if (template.html || template.text) return template
  const details = { field: 'template_id', value: id }
  throw new Refusal('invalid-parameter', 'template_id: the template has neither html nor text', details)
}

async function requireSubscribers(read: Read, workspaceId: string, audienceId: string): Promise<void> {
  await requireAudience(read, workspaceId, audienceId)
  if ((await findSubscribedContact(read, workspaceId, audienceId)) !== undefined) return
  const message = 'audience_id: the audience has no subscribed contact'
  throw new Refusal('invalid-parameter', message, { field: 'audience_id', value: audienceId })
}
