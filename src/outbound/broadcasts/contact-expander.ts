/**
 * Makes the messages of the next contacts of a broadcast, in one commit with the cursor.
 *
 * The audience is fixed at the start, except for contacts who have unsubscribed, were deleted or are suppressed when
 * their turn comes. Delivery leaves out contacts who leave while their message waits. The whole commit misses if the
 * broadcast is no longer sending, its cursor was moved, or a limit is exhausted; a broadcast of a deleted workspace is
 * never sending. A broadcast to those who did not open another one leaves out all other contacts
 * here. It is paused once emails of the other one are removed. If a limit is exhausted, the expander takes as many
 * contacts as the limit allows, and the others wait.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Address, domainOf, tryParseForeignAddress } from '../../base/mail/address.js'
import type { Refusal } from '../../base/mail/refusal.js'
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareWrite } from '../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import { findUnopened, keepsAllEmails } from '../../records/messages/broadcast-outcomes.js'
import { findFrame } from '../../records/messages/frames/framed-message.js'
import type { MessageFrame } from '../../records/messages/frames/message-frame.js'
import { type EnqueuedEmail, enqueue, type NewEmail } from '../../records/messages/queue/enqueue.js'
import type { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import type { EmailCharger } from '../../workspaces/accounts/limits/quota.js'
import type { Contact } from '../../workspaces/audiences/contacts.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'
import type { QueueRunner } from '../delivery/queue-runner.js'
import { nextContacts } from './active-broadcasts.js'
import { advanceCursor, type BroadcastSummary, pauseBroadcast } from './broadcast-records.js'
import type { ContactMessage, ContactMessages } from './contact-message.js'

export interface ExpanderDeps extends Store {
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly charger: EmailCharger
  readonly suppressions: Pick<SuppressionCache, 'isSuppressed'>
  readonly domains: Pick<SendingDomainCache, 'findVerified'>
  readonly messages: ContactMessages
  readonly runner: Pick<QueueRunner, 'offer'>
}

/** Milliseconds of one turn of the event loop. */
const TURN_TIME = 2

/** The note of a broadcast that is paused because it is no longer known who opened the first one. */
const OPENS_UNKNOWN =
  'emails of the first broadcast were removed after their retention, so it is not known who opened them: cancel this broadcast, and duplicate the first one to send it to the whole audience'

/** A contact whose address was parsed. */
interface ChosenContact {
  readonly contact: Contact
  readonly address: Address
}

/** The contacts of one step. */
interface Chunk {
  readonly chosen: readonly ChosenContact[]
  /** The last contact that the step has looked at. */
  readonly cursor: string
  readonly isLast: boolean
}

export class ContactExpander {
  constructor(private readonly deps: ExpanderDeps) {}

  /** Resolves to `wait` if a limit is exhausted, or if the broadcast is paused or has changed. */
  async expand(broadcast: BroadcastSummary, size: number): Promise<'done' | 'wait'> {
    const { domains, charger, clock, commit, runner } = this.deps
    const { workspace_id: workspaceId } = broadcast
    const senderDomain = domainOf(parseJson(broadcast.sender).address)
    if ((await domains.findVerified(workspaceId, senderDomain)) === undefined) {
      return this.pause(broadcast, `${senderDomain} is not a verified domain of this workspace`)
    }
    let chunk = await this.readChunk(broadcast, size)
    // Emails may be removed while the chunk is read, so this comes after it.
    if (!(await this.knowsOpens(broadcast))) return this.pause(broadcast, OPENS_UNKNOWN)
    const enqueued = await this.enqueueAll(broadcast, chunk.chosen)
    for (;;) {
      const now = clock()
      const count = chunk.chosen.length
      const charged = await charger.charge(Array(count).fill({ workspaceId, senderDomain }), now)
      const made = enqueued.slice(0, count)
      const writes = [...charged.writes, moveCursor(broadcast, chunk), ...made.flatMap((email) => email.writes)]
      if (await tryCommit(commit(writes))) {
        // The bytes are built when the message's turn comes, because memory is kept for other mail.
        for (const email of made) runner.offer(email)
        if (broadcast.cursor === '') this.logStart(broadcast)
        return 'done'
      }
      const refusal = count === 0 ? null : await charged.findRefusal(false)
      if (refusal === null) return 'wait'
      const reaction = reactToLimit(refusal, count, now)
      if (reaction.kind === 'pause') return this.pause(broadcast, reaction.note)
      if (reaction.kind === 'wait') return this.wait(broadcast, reaction)
      chunk = shorten(chunk, reaction.count)
    }
  }

  private async readChunk(broadcast: BroadcastSummary, size: number): Promise<Chunk> {
    const { read, suppressions } = this.deps
    const { workspace_id: workspaceId, audience_id: audienceId, cursor, ceiling, started_at: startedAt } = broadcast
    const contacts = await nextContacts(read, { workspaceId, audienceId, after: cursor, ceiling, limit: size })
    const chosen: ChosenContact[] = []
    for (const contact of contacts) {
      const address = tryParseForeignAddress(contact.email)
      // The ids of imported contacts contain the time when the import began.
      const isIncluded = contact.subscribed === 1 && contact.created_at <= (startedAt ?? 0)
      if (address === null || !isIncluded || (await suppressions.isSuppressed(workspaceId, address))) continue
      chosen.push({ contact, address })
    }
    const restricted = await this.restrict(broadcast, chosen)
    return { chosen: restricted, cursor: contacts.at(-1)?.id ?? cursor, isLast: contacts.length < size }
  }

  /** Chooses those who got another broadcast and did not open it, if the broadcast goes only to them. */
  private async restrict(
    { workspace_id: workspaceId, not_opened_of: broadcastId }: BroadcastSummary,
    chosen: readonly ChosenContact[],
  ): Promise<readonly ChosenContact[]> {
    if (broadcastId === null) return chosen
    const ids = chosen.map(({ contact }) => contact.id)
    const unopened = await findUnopened(this.deps.read, { workspaceId, broadcastId }, ids)
    return chosen.filter(({ contact }) => unopened.has(contact.id))
  }

  /** False if it is not known for all contacts whether they opened the broadcast on which this one depends. */
  private async knowsOpens({ workspace_id: workspaceId, not_opened_of: first }: BroadcastSummary): Promise<boolean> {
    return first === null || keepsAllEmails(this.deps.read, { workspaceId, broadcastId: first })
  }

  /** Works in turns of the event loop of about two milliseconds each. */
  private async enqueueAll(
    broadcast: BroadcastSummary,
    chosen: readonly ChosenContact[],
  ): Promise<readonly EnqueuedEmail[]> {
    if (chosen.length === 0) return []
    const frame = await findFrame(this.deps.read, broadcast.workspace_id, broadcast.id)
    if (frame === undefined) throw new Error('a broadcast that is sending has no frame')
    const enqueued: EnqueuedEmail[] = []
    let end = performance.now() + TURN_TIME
    for (const one of chosen) {
      enqueued.push(this.enqueueOne(broadcast, frame, one))
      if (performance.now() < end) continue
      await nextTurn()
      end = performance.now() + TURN_TIME
    }
    return enqueued
  }

  private enqueueOne(
    broadcast: BroadcastSummary,
    frame: MessageFrame,
    { contact, address }: ChosenContact,
  ): EnqueuedEmail {
    const now = this.deps.clock()
    const ids = { emailId: `bc-${uuidv7(now)}`, recipientId: uuidv7(now) }
    const message = this.deps.messages.build(frame, { ...contact, email: address }, { ...ids, now })
    const stored = insertMessage({
      email_id: ids.emailId,
      recipient_id: ids.recipientId,
      workspace_id: broadcast.workspace_id,
      broadcast_id: broadcast.id,
      contact_id: contact.id,
      address,
      slots: toJson(message.slots),
      created_at: now,
    })
    const recipient = { address, suppressed: false, notify: null, orcpt: null, id: ids.recipientId }
    const email = buildEmail(broadcast, message, { id: ids.emailId, address, now })
    return enqueue(email, [recipient], { size: message.size, writes: [stored] })
  }

  private logStart({ id, workspace_id, audience_id, name }: BroadcastSummary): void {
    this.deps.log.info({ workspace: workspace_id, broadcast: id, name, audience: audience_id }, 'a broadcast begins')
  }

  private async pause({ id, workspace_id: workspaceId }: BroadcastSummary, note: string): Promise<'wait'> {
    const { commit, clock, log } = this.deps
    if (await tryCommit(commit([pauseBroadcast({ workspaceId, id, now: clock(), note })]))) {
      log.warn({ workspace: workspaceId, broadcast: id, why: note }, 'a broadcast is paused by the service')
    }
    return 'wait'
  }

  private async wait(
    broadcast: BroadcastSummary,
    { until, note }: { readonly until: number; readonly note: string },
  ): Promise<'wait'> {
    const { commit, log } = this.deps
    const { id, workspace_id: workspaceId, cursor } = broadcast
    const move = { workspaceId, id, from: cursor, to: cursor, expanded: 0, waitsUntil: until, note } as const
    if ((await tryCommit(commit([advanceCursor(move)]))) && broadcast.waits_until !== until) {
      log.info({ workspace: workspaceId, broadcast: id, why: note, until: formatTimestamp(until) }, 'a broadcast waits')
    }
    return 'wait'
  }
}

/** Returns the chunk with only its first `count` contacts. */
function shorten({ chosen }: Chunk, count: number): Chunk {
  const left = chosen.slice(0, count)
  return { chosen: left, cursor: left.at(-1)?.contact.id ?? '', isLast: false }
}

function moveCursor(broadcast: BroadcastSummary, { cursor, isLast }: Chunk): Write {
  const { id, workspace_id: workspaceId } = broadcast
  const move = { workspaceId, id, from: broadcast.cursor, to: cursor, waitsUntil: null, note: null } as const
  return advanceCursor({ ...move, expanded: isLast ? 1 : 0 })
}

type LimitReaction =
  /** `count` messages fit. */
  | { readonly kind: 'fewer'; readonly count: number }
  /** The broadcast continues by itself. */
  | { readonly kind: 'wait'; readonly until: number; readonly note: string }
  /** Waiting alone does not help. */
  | { readonly kind: 'pause'; readonly note: string }

/**
 * Decides what a broadcast does when a limit of its workspace or its sender domain is exhausted. `refusal` says why
 * `count` messages were not accepted.
 */
export function reactToLimit({ message, details }: Refusal, count: number, now: number): LimitReaction {
  const remaining = Number(details?.['remaining'] ?? 0)
  if (remaining > 0 && remaining < count) return { kind: 'fewer', count: remaining }
  const resetAt = Date.parse(String(details?.['reset_at'] ?? ''))
  // A request for more than the whole limit never fits. Ask for one message to learn whether one will fit later.
  if (Number.isNaN(resetAt)) return count > 1 ? { kind: 'fewer', count: 1 } : { kind: 'pause', note: message }
  return { kind: 'wait', until: Math.max(resetAt, now + 1), note: message }
}

type NewMessage = Omit<Tables['broadcast_messages'], 'unsubscribed_at' | 'unsubscribed_contact'>

const insertMessage = prepareWrite<NewMessage>(({ db, slot }) =>
  db.insertInto('broadcast_messages').values({
    email_id: slot('email_id'),
    recipient_id: slot('recipient_id'),
    workspace_id: slot('workspace_id'),
    broadcast_id: slot('broadcast_id'),
    contact_id: slot('contact_id'),
    address: slot('address'),
    slots: slot('slots'),
    created_at: slot('created_at'),
  }),
)

function buildEmail(
  broadcast: BroadcastSummary,
  { messageId, subject, smtputf8 }: ContactMessage,
  { id, address, now }: { readonly id: string; readonly address: Address; readonly now: number },
): NewEmail {
  const { address: sender, name } = parseJson(broadcast.sender)
  return {
    id,
    workspace_id: broadcast.workspace_id,
    source: 'rest',
    message_id: messageId,
    envelope_from: sender,
    envid: null,
    ret: null,
    from_email: sender,
    from_name: name,
    to_emails: toJson([address]),
    cc_emails: toJson([]),
    bcc_emails: toJson([]),
    reply_to: toJson(parseJson(broadcast.reply_to).map((mailbox) => mailbox.address)),
    subject,
    tags: toJson([]),
    track_opens: 1,
    track_clicks: 1,
    tracking_skipped: null,
    has_copies: 0,
    priority: 'low',
    smtputf8: smtputf8 ? 1 : 0,
    created_at: now,
    scheduled_for: null,
    key_id: broadcast.key_id,
    template_id: broadcast.template_id,
    broadcast_id: broadcast.id,
  }
}
