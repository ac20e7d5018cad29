/**
 * The sending policy, the same for SMTP and REST: from a submission to the writes of one commit.
 *
 * Checks whether the key may use the senders, and which recipients are suppressed. Refusals are thrown before anything
 * is written.
 */
import { isAscii } from 'node:buffer'
import type { Principal } from '../accounts/principal.js'
import type { SendingDomain } from '../domains/sending-domains.js'
import { type Address, type DomainName, domainOf } from '../mail/address.js'
import { formatNotify } from '../mail/dsn-parameters.js'
import type { Header } from '../mail/header-fields.js'
import type { Mailbox } from '../mail/mailbox-list.js'
import { Refusal } from '../mail/refusal.js'
import { type EnqueuedEmail, enqueue, type NewEmail, type NewRecipient } from '../messages/queue/enqueue.js'
import { type Json, toJson } from '../storage/tables/columns.js'
import { MOVE_FROM_BYTES, MovedBytes } from '../storage/writer/write.js'
import { prepareMessage } from './prepare-message.js'
import { checkEnvelopeSender, checkSender, type FindVerifiedDomain } from './sender-policy.js'
import type { MessageSummary, SendingOptions, Submission, SubmittedRecipient } from './submitted-message.js'

export interface PrepareDeps {
  readonly isSuppressed: (workspaceId: string, address: Address) => boolean
  readonly hostname: string
  readonly findVerifiedDomain: FindVerifiedDomain
}

export interface PreparedEmail {
  readonly enqueued: EnqueuedEmail
  /** Empty if the message is large: the memory of the submitted message is transferred to the writer. */
  readonly raw: Buffer
  /** The domain of the first From address, which the limits of a sender domain count. */
  readonly senderDomain: DomainName
  /** Suppressed recipients, in their order in the envelope. */
  readonly suppressed: readonly Address[]
}

export type PrepareEmail = (principal: Principal, submission: Submission) => PreparedEmail

export function createEmailPreparer(deps: PrepareDeps): PrepareEmail {
  return (principal, submission) => {
    const { message, header, summary, emailId, now } = submission
    const domain = checkSenders(deps, principal, message.envelopeFrom, summary.from)
    const recipients = resolveRecipients(deps, principal.workspaceId, message.recipients)
    const origin = { hostname: deps.hostname, protocol: message.protocol, emailId, now }
    const { pieces, messageId } = prepareMessage(message.raw, header, origin)
    const utf8 = message.smtputf8 && hasUtf8(message.raw, header)
    const stored = toStoredBytes(pieces)
    const email = buildEmail({ principal, submission, summary, domain, recipients, messageId, utf8 })
    return {
      enqueued: enqueue(email, recipients, stored),
      raw: stored instanceof MovedBytes ? Buffer.alloc(0) : stored,
      senderDomain: domainOf(summary.from[0].address),
      suppressed: recipients.filter(({ suppressed }) => suppressed).map(({ address }) => address),
    }
  }
}

/** A large message stays in pieces, which the writer joins: in place, unless a field was removed or added at the end. */
function toStoredBytes(pieces: readonly Buffer[]): Buffer | MovedBytes {
  const moved = new MovedBytes(pieces)
  return moved.length < MOVE_FROM_BYTES ? Buffer.concat(pieces) : moved
}

interface EmailInput {
  readonly principal: Principal
  readonly submission: Submission
  readonly summary: MessageSummary
  readonly domain: SendingDomain
  readonly recipients: readonly NewRecipient[]
  readonly messageId: string
  readonly utf8: boolean
}

function buildEmail({ principal, submission, summary, domain, recipients, messageId, utf8 }: EmailInput): NewEmail {
  const { message, options } = submission
  return {
    id: submission.emailId,
    workspace_id: principal.workspaceId,
    source: submission.source,
    message_id: messageId,
    envelope_from: message.envelopeFrom,
    envid: message.envid,
    ret: message.ret,
    from_email: summary.from[0].address,
    from_name: summary.from[0].name,
    to_emails: toAddressJson(summary.to),
    cc_emails: toAddressJson(summary.cc),
    bcc_emails: toJson(findBlindCopies(recipients, [...summary.to, ...summary.cc])),
    reply_to: toAddressJson(summary.replyTo),
    subject: summary.subject,
    tags: toJson(options.tags),
    ...resolveTracking(options, domain),
    priority: options.priority,
    smtputf8: utf8 ? 1 : 0,
    created_at: submission.now,
    scheduled_for: options.scheduledFor,
    key_id: principal.keyId,
    template_id: submission.templateId,
  }
}

/** Checks the envelope sender and every From address; returns the domain of the first From. */
function checkSenders(
  { findVerifiedDomain }: PrepareDeps,
  principal: Principal,
  envelopeFrom: Address | '',
  from: MessageSummary['from'],
): SendingDomain {
  checkEnvelopeSender(principal, envelopeFrom, findVerifiedDomain)
  const [first, ...others] = from
  const domain = checkSender(principal, first.address, 'From', findVerifiedDomain)
  for (const { address } of others) checkSender(principal, address, 'From', findVerifiedDomain)
  return domain
}

/** Each address once; throws a Refusal if all are suppressed. The listener bounds their number. */
function resolveRecipients(
  { isSuppressed }: PrepareDeps,
  workspaceId: string,
  submitted: readonly SubmittedRecipient[],
): NewRecipient[] {
  const byAddress = new Map<string, NewRecipient>()
  for (const { address, notify, orcpt, id } of submitted) {
    if (byAddress.has(address)) continue
    byAddress.set(address, {
      address,
      suppressed: isSuppressed(workspaceId, address),
      notify: notify === null ? null : formatNotify(notify),
      orcpt,
      id,
    })
  }
  const recipients = [...byAddress.values()]
  const suppressed = recipients.filter((recipient) => recipient.suppressed).map(({ address }) => address)
  if (suppressed.length === recipients.length) {
    throw new Refusal('all-recipients-suppressed', 'all recipients are on the suppression list', { suppressed })
  }
  return recipients
}

/** Envelope recipients that the header does not name: blind copies. */
function findBlindCopies(recipients: readonly NewRecipient[], named: readonly Mailbox[]): Address[] {
  const names = new Set(named.map(({ address }) => address?.toLowerCase()))
  return recipients.map(({ address }) => address).filter((address) => !names.has(address.toLowerCase()))
}

function toAddressJson(list: readonly Mailbox[]): Json<readonly string[]> {
  return toJson(list.flatMap(({ address }) => (address === null ? [] : [address])))
}

/** A header with UTF-8 needs SMTPUTF8 at every next hop (RFC 6532). */
function hasUtf8(raw: Buffer, header: Header): boolean {
  return !isAscii(raw.subarray(0, header.end))
}

function resolveTracking(options: SendingOptions, domain: SendingDomain): { track_opens: 0 | 1; track_clicks: 0 | 1 } {
  const opens = options.trackOpens ?? domain.track_opens === 1
  const clicks = options.trackClicks ?? domain.track_clicks === 1
  return { track_opens: opens ? 1 : 0, track_clicks: clicks ? 1 : 0 }
}
