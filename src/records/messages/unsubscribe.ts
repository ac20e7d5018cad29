/**
 * Unsubscribes a recipient, by mail or by link: its address is suppressed in its workspace, and the event is recorded
 * once, however often the recipient asks. A recipient whose records are gone is found by its link.
 *
 * If the address was removed from the suppression list since, it is added again, without another event. For the
 * recipient of a broadcast see `list-unsubscribe.ts`: its address is not suppressed.
 */

import type { Address } from '../../base/mail/address.js'
import type { Language } from '../../base/mail/language.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { listClosedWorkspaces } from '../../base/storage/maintenance/erase.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { readMailFooter } from '../../workspaces/accounts/workspace/mail-footer.js'
import { recordEvent } from '../events/event-log.js'
import { addSuppression, isSuppressed } from '../suppressions/suppressions.js'
import { type BroadcastRecipient, broadcastRecipientOf } from './broadcast-recipients.js'
import { emailById } from './email/email.js'
import { recipientOfAnyWorkspace } from './email/recipients.js'
import { type OutcomeSubject, resolveLateOutcome } from './late-outcome.js'
import {
  buildListUnsubscription,
  canUndo,
  isListUnsubscribed,
  senderOfBroadcast,
  undoListUnsubscription,
} from './list-unsubscribe.js'
import { markUnsubscribed, type UnsubscribeLink, unsubscribeLinkOf } from './unsubscribe-links.js'

/** The recipient of an unsubscribe link. */
export interface LinkRecipient {
  readonly address: Address
  /** Null if no record has the sender any longer. */
  readonly sender: Address | null
  /** The mail that the link ends: all mail of the workspace, or its broadcasts to an audience. */
  readonly scope: 'mail' | 'broadcasts'
  readonly isUnsubscribed: boolean
  readonly canUndo: boolean
  /** The workspace writes to its recipients in it. */
  readonly language: Language
}

/** Finds the recipient whom the holder of a token may unsubscribe. Null if no records or no workspace is left. */
export async function findLinkRecipient(read: Read, recipientId: string, now: number): Promise<LinkRecipient | null> {
  const listed = await findListed(read, recipientId)
  if (listed !== null) {
    return {
      ...{ address: listed.address, sender: await senderOfBroadcast(read, listed), scope: 'broadcasts' },
      ...{ isUnsubscribed: await isListUnsubscribed(read, listed), canUndo: await canUndo(read, listed, now) },
      language: (await readMailFooter(read, listed.workspace_id)).language,
    }
  }
  const known = await findKnown(read, recipientId)
  if (known === null) return null
  const { workspaceId, address, sender } = known
  return {
    address,
    sender,
    scope: 'mail',
    isUnsubscribed: await isSuppressed(read, workspaceId, address),
    canUndo: false,
    language: (await readMailFooter(read, workspaceId)).language,
  }
}

/** `ignored` means that the writes repeat an earlier request's event; `why` is that of `late-outcome.ts`. */
type Unsubscription =
  | { readonly kind: 'acts'; readonly writes: readonly Write[] }
  | { readonly kind: 'ignored'; readonly why: 'state' | 'repeated'; readonly writes: readonly Write[] }
  | { readonly kind: 'gone' }

/** Returns the writes of one commit. They miss if the same recipient is unsubscribed at the same moment. */
export async function buildUnsubscription(read: Read, recipientId: string, at: number): Promise<Unsubscription> {
  const listed = await findListed(read, recipientId)
  if (listed !== null) {
    const { isRepeated, writes } = await buildListUnsubscription(read, listed, at)
    return isRepeated ? { kind: 'ignored', why: 'repeated', writes } : { kind: 'acts', writes }
  }
  const known = await findKnown(read, recipientId)
  if (known === null) return { kind: 'gone' }
  const { workspaceId, emailId, address, subject, linkState } = known
  const suppression = addSuppression({
    ...{ workspaceId, email: address, reason: 'unsubscribe', sourceEmailId: emailId },
    ...{ metadata: {}, at },
  })
  if (linkState === 'used') return { kind: 'ignored', why: 'repeated', writes: [suppression] }
  const marks = linkState === 'unused' ? [markUnsubscribed({ recipientId, at })] : []
  if (subject === null) return { kind: 'acts', writes: [...marks, recordBareEvent(known, at), suppression] }
  const late = await resolveLateOutcome(read, subject, { kind: 'unsubscribed' }, at)
  if (late.kind === 'acts') return { kind: 'acts', writes: [...marks, ...late.writes, suppression] }
  return { kind: 'ignored', why: late.why, writes: [suppression] }
}

/** Resolves to false if the recipient is no longer known. */
export async function unsubscribe({ read, commit }: Store, recipientId: string, at: number): Promise<boolean> {
  for (;;) {
    const found = await buildUnsubscription(read, recipientId, at)
    if (found.kind === 'gone') return false
    if (found.writes.length === 0) return true
    // The commit missed because another request has unsubscribed the recipient. The next round finds that.
    if (await tryCommit(commit(found.writes))) return true
  }
}

/** Resolves to false if there is nothing that the holder of the token may undo now. */
export async function undoUnsubscription({ read, commit }: Store, recipientId: string, at: number): Promise<boolean> {
  for (;;) {
    const listed = await findListed(read, recipientId)
    if (listed === null || !(await canUndo(read, listed, at))) return false
    if (await tryCommit(commit(undoListUnsubscription(listed, at)))) return true
  }
}

/** Returns the recipient of a broadcast. Null if it has none, or if its workspace is being erased. */
async function findListed(read: Read, recipientId: string): Promise<BroadcastRecipient | null> {
  const [listed] = await broadcastRecipientOf(read, { recipientId })
  return listed === undefined || (await isClosed(read, listed.workspace_id)) ? null : listed
}

async function isClosed(read: Read, workspaceId: string): Promise<boolean> {
  return (await listClosedWorkspaces(read, {})).some(({ id }) => id === workspaceId)
}

interface LinkOwner {
  readonly workspaceId: string
  readonly emailId: string
  readonly address: Address
  readonly sender: Address
}

interface KnownRecipient extends LinkOwner {
  /** Null if its records are gone. */
  readonly subject: OutcomeSubject | null
  /** `none` means that the email has no link, only an address that unsubscribes. */
  readonly linkState: 'unused' | 'used' | 'none'
}

/** Returns null for the service's own mail, which belongs to no workspace, and for a workspace that is being erased. */
async function findKnown(read: Read, recipientId: string): Promise<KnownRecipient | null> {
  const [link] = await unsubscribeLinkOf(read, { recipientId })
  const subject = await findSubject(read, recipientId)
  const owner = subject === null ? (link === undefined ? null : ofLink(link)) : ofSubject(subject)
  if (owner === null || owner.workspaceId === SERVICE_WORKSPACE) return null
  if (await isClosed(read, owner.workspaceId)) return null
  return { ...owner, subject, linkState: linkStateOf(link) }
}

function linkStateOf(link: UnsubscribeLink | undefined): KnownRecipient['linkState'] {
  if (link === undefined) return 'none'
  return link.unsubscribed_at === null ? 'unused' : 'used'
}

function ofLink({ workspace_id: workspaceId, email_id: emailId, address, sender }: UnsubscribeLink): LinkOwner {
  return { workspaceId, emailId, address, sender }
}

function ofSubject({ recipient, email }: OutcomeSubject): LinkOwner {
  return {
    workspaceId: recipient.workspace_id,
    emailId: recipient.email_id,
    address: recipient.address,
    sender: email.from_email,
  }
}

async function findSubject(read: Read, recipientId: string): Promise<OutcomeSubject | null> {
  const [recipient] = await recipientOfAnyWorkspace(read, { id: recipientId })
  if (recipient === undefined) return null
  const [email] = await emailById(read, { workspaceId: recipient.workspace_id, id: recipient.email_id })
  return email === undefined ? null : { recipient, email }
}

/** Records the event without subject and tags, because the email's own record is gone. */
function recordBareEvent({ workspaceId, emailId, address, sender }: KnownRecipient, at: number): Write {
  const unsubscribed_at = formatTimestamp(at)
  const common = { email_id: emailId, from: sender, to: address, subject: '', tags: {} }
  const data = { ...common, unsubscribed_at, broadcast_id: null, contact_id: null }
  return recordEvent({ workspaceId, type: 'email.unsubscribed', emailId, recipient: address, at, data })
}
