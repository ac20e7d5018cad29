/**
 * From a submission to all that one commit of it writes: the policy under every door.
 *
 * May this key send as that sender? Who is left to send to? Refusals are thrown before
 * anything is written.
 */
import { isAscii } from 'node:buffer'
import type { Principal } from '../accounts/principal.js'
import type { SendingDomain } from '../domains/sending-domains.js'
import { type Address, type DomainName, domainOf } from '../mail/address.js'
import { formatNotify } from '../mail/dsn-parameters.js'
import type { Header } from '../mail/header-fields.js'
import type { Mailbox } from '../mail/mailbox-list.js'
import type { NamedAddress } from '../mail/named-address.js'
import { Refusal } from '../mail/refusal.js'
import { type EnqueuedEmail, enqueue, type NewEmail, type NewRecipient } from '../messages/queue/enqueue.js'
import { MOVE_FROM_BYTES, MovedBytes } from '../storage/writer/write.js'
import { prepareMessage } from './prepare-message.js'
import { checkSender } from './sender-policy.js'
import type { MessageSummary, SendingOptions, Submission, SubmittedRecipient } from './submitted-message.js'

export interface PrepareDeps {
  readonly isSuppressed: (workspaceId: string, address: Address) => boolean
  readonly hostname: string
  /** The domain where the workspace has it verified. */
  readonly findVerifiedDomain: (workspaceId: string, domain: string) => SendingDomain | undefined
}

export interface PreparedEmail {
  readonly enqueued: EnqueuedEmail
  /** Of a large message empty once it was committed: its memory goes over to the database. */
  readonly raw: Buffer
  /** Of the first From address: what the limits of a sender domain count. */
  readonly senderDomain: DomainName
  /** Recipients who are not written to, in the order in which they were given. */
  readonly suppressed: readonly Address[]
}

export type PrepareEmail = (principal: Principal, submission: Submission) => PreparedEmail

export function prepareEmail(deps: PrepareDeps): PrepareEmail {
  return (principal, submission) => {
    const { message, header, summary, emailId, now } = submission
    const domain = checkSenders(deps, principal, message.envelopeFrom, summary.from)
    const recipients = resolveRecipients(deps, principal.workspaceId, message.recipients)
    const origin = { hostname: deps.hostname, protocol: message.protocol, emailId, now }
    const { raw, messageId } = prepareMessage(message.raw, header, origin)
    const utf8 = message.smtputf8 && hasUtf8(message.raw, header)
    const email = buildEmail({ principal, submission, summary, domain, recipients, messageId, utf8 })
    return {
      enqueued: enqueue(email, recipients, raw.length < MOVE_FROM_BYTES ? raw : new MovedBytes([raw])),
      raw,
      senderDomain: domainOf(summary.from[0].address),
      suppressed: recipients.filter(({ suppressed }) => suppressed).map(({ address }) => address),
    }
  }
}

interface EmailInput {
  readonly principal: Principal
  readonly submission: Submission
  readonly summary: MessageSummary
  readonly domain: SendingDomain | undefined
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
    bcc_emails: JSON.stringify(findBlindCopies(recipients, [...summary.to, ...summary.cc])),
    reply_to: toAddressJson(summary.replyTo),
    subject: summary.subject,
    tags: JSON.stringify(options.tags),
    ...resolveTracking(options, domain),
    priority: options.priority,
    smtputf8: utf8 ? 1 : 0,
    created_at: submission.now,
    scheduled_for: options.scheduledFor,
    key_id: principal.keyId,
    template_id: submission.templateId,
  }
}

/** Envelope sender and every From address; gives the domain of the first From. */
function checkSenders(
  { findVerifiedDomain }: PrepareDeps,
  principal: Principal,
  envelopeFrom: Address | '',
  from: readonly NamedAddress[],
): SendingDomain | undefined {
  const isVerified = (workspaceId: string, domain: string): boolean =>
    findVerifiedDomain(workspaceId, domain) !== undefined
  if (envelopeFrom !== '') checkSender(principal, envelopeFrom, 'sender', isVerified)
  for (const { address } of from) checkSender(principal, address, 'From', isVerified)
  const first = from[0]
  return first === undefined ? undefined : findVerifiedDomain(principal.workspaceId, domainOf(first.address))
}

/** Each address once (how many there may be is the door's to say); refused when none is left that may be written to. */
function resolveRecipients(
  { isSuppressed }: PrepareDeps,
  workspaceId: string,
  given: readonly SubmittedRecipient[],
): NewRecipient[] {
  const byAddress = new Map<string, NewRecipient>()
  for (const { address, notify, orcpt, id } of given) {
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

/** Envelope recipients whom the header does not name: they were blind copies. */
function findBlindCopies(recipients: readonly NewRecipient[], named: readonly Mailbox[]): Address[] {
  const names = new Set(named.map(({ address }) => address?.toLowerCase()))
  return recipients.map(({ address }) => address).filter((address) => !names.has(address.toLowerCase()))
}

function toAddressJson(list: readonly Mailbox[]): string {
  return JSON.stringify(list.flatMap(({ address }) => (address === null ? [] : [address])))
}

/** A header with UTF-8 in it asks every next hop for SMTPUTF8 (RFC 6532); one without can go anywhere. */
function hasUtf8(raw: Buffer, header: Header): boolean {
  return !isAscii(raw.subarray(0, header.end))
}

function resolveTracking(
  options: SendingOptions,
  domain: SendingDomain | undefined,
): { track_opens: 0 | 1; track_clicks: 0 | 1 } {
  const opens = options.trackOpens ?? domain?.track_opens === 1
  const clicks = options.trackClicks ?? domain?.track_clicks === 1
  return { track_opens: opens ? 1 : 0, track_clicks: clicks ? 1 : 0 }
}
