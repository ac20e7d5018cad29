/**
 * From a submitted message to a queued one: the policy under every door.
 *
 * Whoever gets an id back may forget the message: its commit is on disk. Refusals are
 * thrown before anything is written.
 */
import { isAscii } from 'node:buffer'
import type { Principal } from '../accounts/principal.js'
import type { SendingDomain } from '../domains/sending-domains.js'
import { type Address, domainOf } from '../mail/address.js'
import { formatNotify } from '../mail/dsn-parameters.js'
import { fieldValue, type Header, scanHeader } from '../mail/header-fields.js'
import type { Mailbox } from '../mail/mailbox-list.js'
import { Refusal } from '../mail/refusal.js'
import { type Enqueued, enqueue, type NewEmail, type NewRecipient } from '../messages/enqueue.js'
import type { Clock } from '../platform/clock.js'
import { uuidv7 } from '../platform/ids.js'
import type { Read } from '../storage/prepared.js'
import { type Commit, ConstraintViolated, type Write } from '../storage/write.js'
import { isSuppressed } from '../suppressions/suppressions.js'
import { expireIdempotency, fingerprintOf, IDEMPOTENCY_LIFETIME, insertIdempotency, madeBefore } from './idempotency.js'
import { type Author, type MessageSummary, prepareMessage, summarise } from './prepare-message.js'
import { checkSender } from './sender-policy.js'
import { isServiceField, readServiceFields, type SendingOptions } from './service-headers.js'
import type { SubmittedMessage, SubmittedRecipient } from './submitted-message.js'

export interface Accepted {
  readonly emailId: string
}

export interface AcceptDeps {
  readonly read: Read
  readonly commit: Commit
  readonly clock: Clock
  readonly hostname: string
  readonly maxRecipients: number
  /** The domain where the workspace has it verified. */
  readonly verifiedDomain: (workspaceId: string, domain: string) => SendingDomain | undefined
  /** Hands what is due now to delivery, in memory. */
  readonly handOver: (enqueued: Enqueued, raw: Buffer) => void
}

export type Accept = (principal: Principal, message: SubmittedMessage) => Promise<Accepted>

export function accept(deps: AcceptDeps): Accept {
  return async (principal, message) => {
    const now = deps.clock()
    const header = scanHeader(message.raw)
    const summary = summarise(message.raw, header)
    const domain = checkSenders(deps, principal, message, summary.from)
    const options = readServiceFields(serviceFields(message.raw, header), now)

    const guard = options.idempotencyKey === null ? null : keyGuard(principal, message, options.idempotencyKey)
    const before = guard === null ? null : madeBefore(deps.read, guard, now)
    if (before !== null) return { emailId: before }

    const recipients = wantedRecipients(deps, principal.workspaceId, message.recipients)
    const emailId = uuidv7(now)
    const origin = { hostname: deps.hostname, protocol: message.protocol, emailId, now }
    const prepared = prepareMessage(message.raw, header, origin)
    const wanted = { principal, message, summary, options, domain, recipients, now, emailId }
    const utf8 = message.smtputf8 && hasUtf8(message.raw, header)
    const enqueued = enqueue(newEmail(wanted, prepared.messageId, utf8), recipients, prepared.raw)
    const taken = await commitOnce(deps, enqueued.writes, guard, emailId, now)
    if (taken !== emailId) return { emailId: taken }
    deps.handOver(enqueued, prepared.raw)
    return { emailId }
  }
}

interface Wanted {
  readonly principal: Principal
  readonly message: SubmittedMessage
  readonly summary: MessageSummary
  readonly options: SendingOptions
  readonly domain: SendingDomain | undefined
  readonly recipients: readonly NewRecipient[]
  readonly now: number
  readonly emailId: string
}

function newEmail(wanted: Wanted, messageId: string, utf8: boolean): NewEmail {
  const { message, summary, options } = wanted
  return {
    id: wanted.emailId,
    workspace_id: wanted.principal.workspaceId,
    source: 'smtp',
    message_id: messageId,
    envelope_from: message.envelopeFrom,
    envid: message.envid,
    ret: message.ret,
    from_email: summary.from[0].address,
    from_name: summary.from[0].name,
    to_emails: addressList(summary.to),
    cc_emails: addressList(summary.cc),
    bcc_emails: JSON.stringify(unnamed(wanted.recipients, [...summary.to, ...summary.cc])),
    reply_to: addressList(summary.replyTo),
    subject: summary.subject,
    tags: JSON.stringify(options.tags),
    ...tracking(options, wanted.domain),
    priority: options.priority,
    smtputf8: utf8 ? 1 : 0,
    created_at: wanted.now,
    scheduled_for: options.scheduledFor,
  }
}

/** Envelope sender and every From address; gives the domain of the first From. */
function checkSenders(
  { verifiedDomain }: AcceptDeps,
  principal: Principal,
  message: SubmittedMessage,
  from: readonly Author[],
): SendingDomain | undefined {
  const isVerified = (workspaceId: string, domain: string): boolean => verifiedDomain(workspaceId, domain) !== undefined
  if (message.envelopeFrom !== '') checkSender(principal, message.envelopeFrom, 'sender', isVerified)
  for (const { address } of from) checkSender(principal, address, 'From', isVerified)
  const first = from[0]
  return first === undefined ? undefined : verifiedDomain(principal.workspaceId, domainOf(first.address))
}

function serviceFields(raw: Buffer, header: Header): { name: string; value: string }[] {
  return header.fields
    .filter(({ name }) => isServiceField(name))
    .map((field) => ({ name: field.name, value: fieldValue(raw, field) }))
}

/** Each address once; refused when none is left that may be written to. */
function wantedRecipients(
  { read, maxRecipients }: AcceptDeps,
  workspaceId: string,
  given: readonly SubmittedRecipient[],
): NewRecipient[] {
  const wanted = new Map<string, NewRecipient>()
  for (const { address, notify, orcpt } of given) {
    if (wanted.has(address)) continue
    wanted.set(address, {
      address,
      suppressed: isSuppressed(read, workspaceId, address),
      notify: notify === null ? null : formatNotify(notify),
      orcpt,
    })
  }
  const recipients = [...wanted.values()]
  if (recipients.length > maxRecipients) {
    throw new Refusal('too-many-recipients', `at most ${maxRecipients} recipients`)
  }
  const suppressed = recipients.filter((recipient) => recipient.suppressed).map(({ address }) => address)
  if (suppressed.length === recipients.length) {
    throw new Refusal('all-recipients-suppressed', 'all recipients are on the suppression list', { suppressed })
  }
  return recipients
}

/** Envelope recipients whom the header does not name: they were blind copies. */
function unnamed(recipients: readonly NewRecipient[], named: readonly Mailbox[]): Address[] {
  const names = new Set(named.map(({ address }) => address?.toLowerCase()))
  return recipients.map(({ address }) => address).filter((address) => !names.has(address.toLowerCase()))
}

function addressList(list: readonly Mailbox[]): string {
  return JSON.stringify(list.flatMap(({ address }) => (address === null ? [] : [address])))
}

/** A header with UTF-8 in it asks every next hop for SMTPUTF8 (RFC 6532); one without can go anywhere. */
function hasUtf8(raw: Buffer, header: Header): boolean {
  return !isAscii(raw.subarray(0, header.end))
}

function tracking(
  options: SendingOptions,
  domain: SendingDomain | undefined,
): { track_opens: 0 | 1; track_clicks: 0 | 1 } {
  const opens = options.trackOpens ?? domain?.track_opens === 1
  const clicks = options.trackClicks ?? domain?.track_clicks === 1
  return { track_opens: opens ? 1 : 0, track_clicks: clicks ? 1 : 0 }
}

interface KeyGuard {
  readonly workspaceId: string
  readonly key: string
  readonly fingerprint: string
}

function keyGuard({ workspaceId }: Principal, message: SubmittedMessage, key: string): KeyGuard {
  const envelope = [message.envelopeFrom, ...message.recipients.map(({ address }) => address)]
  return { workspaceId, key, fingerprint: fingerprintOf([...envelope, message.raw]) }
}

/** The id under which the message is on disk: another one where an equal request was faster. */
async function commitOnce(
  { read, commit }: AcceptDeps,
  writes: readonly Write[],
  guard: KeyGuard | null,
  emailId: string,
  now: number,
): Promise<string> {
  if (guard === null) {
    await commit(writes)
    return emailId
  }
  const { workspaceId, key, fingerprint } = guard
  try {
    await commit([
      expireIdempotency({ workspaceId, key, before: now - IDEMPOTENCY_LIFETIME }),
      insertIdempotency({ workspace_id: workspaceId, key, fingerprint, email_id: emailId, created_at: now }),
      ...writes,
    ])
    return emailId
  } catch (error) {
    if (!(error instanceof ConstraintViolated)) throw error
    const other = madeBefore(read, guard, now)
    if (other === null) throw error
    return other
  }
}
