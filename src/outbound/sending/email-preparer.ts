/**
 * The sending policy, the same for SMTP and REST: it makes the writes of one commit from a submission.
 *
 * It checks whether the key may use the senders, and which recipients are suppressed. Refusals are thrown before
 * anything is written.
 */
import { isAscii } from 'node:buffer'
import { type Address, type DomainName, domainOf } from '../../base/mail/address.js'
import { formatNotify } from '../../base/mail/dsn-parameters.js'
import { findFields, type Header, readFieldValue, scanHeader } from '../../base/mail/header-fields.js'
import type { Mailbox } from '../../base/mail/mailbox-list.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { TlsRequired } from '../../base/mail/tls-required.js'
import { concatAlone, hasHeadroom, joinInPlace } from '../../base/platform/memory/byte-pieces.js'
import { MessageBytes, MOVE_FROM_BYTES, TRANSFER_FROM_BYTES } from '../../base/storage/db/message-bytes.js'
import type { Write } from '../../base/storage/db/write.js'
import { type Json, toJson } from '../../base/storage/tables/columns.js'
import { type EnqueuedEmail, enqueue, type NewEmail, type NewRecipient } from '../../records/messages/queue/enqueue.js'
import { insertUnsubscribeLink } from '../../records/messages/unsubscribe-links.js'
import type { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import type { SendingDomain } from '../../workspaces/domains/rows/sending-domains.js'
import { rewriteMessage } from '../tracking/rewrite-message.js'
import type { EmailTracker } from '../tracking/track-email.js'
import { type CopyPlan, checkCopiedBodies, planCopies } from './personal-copies.js'
import { prepareMessage } from './prepare-message.js'
import { checkEnvelopeSender, checkSender, type VerifiedDomains } from './sender-policy.js'
import type { MessageSummary, Submission, SubmittedTracking } from './submitted-message.js'

interface PreparerDeps {
  readonly suppressions: Pick<SuppressionCache, 'findReason'>
  readonly hostname: string
  readonly domains: VerifiedDomains
  readonly tracker: Pick<EmailTracker, 'begin'>
}

export interface PreparedEmail {
  readonly enqueued: EnqueuedEmail
  /** The domain of the first From address. The limits of a sender domain count it. */
  readonly senderDomain: DomainName
  /** The suppressed recipients, in their order in the envelope. */
  readonly suppressed: readonly Address[]
  /** The messages of all recipients except the first. Null if all recipients get the same bytes. */
  readonly copies: CopyPlan | null
}

export class EmailPreparer {
  constructor(private readonly deps: PreparerDeps) {}

  async prepare(principal: Principal, submission: Submission): Promise<PreparedEmail> {
    const { deps } = this
    const { message, summary, emailId, now } = submission
    const domain = await checkSenders(deps, principal, message.envelopeFrom, summary.from)
    const recipients = await resolveRecipients(deps, principal.workspaceId, submission)
    const origin = { hostname: deps.hostname, protocol: message.protocol, emailId, now }
    const tracked = trackSubmission(deps, principal.workspaceId, submission, domain)
    const { pieces, messageId } = prepareMessage(tracked.raw, tracked.header, origin, tracked.rest)
    const { personal = null } = submission
    const mayHaveCopies = personal !== null && recipients.length > 1
    if (mayHaveCopies) checkCopiedBodies(personal.bodies)
    const bytes = mayHaveCopies ? holdForCopies(pieces) : holdBytes(pieces)
    const utf8 = message.smtputf8 && hasUtf8(message.raw, submission.header)
    const { tracking } = tracked
    const copies = mayHaveCopies ? planRecipientCopies(bytes.read(), submission, recipients) : null
    const email = buildEmail({ principal, submission, summary, recipients, messageId, utf8, tracking, copies })
    const enqueued = enqueue(email, recipients, bytes)
    const links = submission.personal == null ? [] : recipients.flatMap((one) => insertLink(email, one))
    return {
      enqueued: { ...enqueued, writes: [...enqueued.writes, ...links, ...tracking.writes] },
      senderDomain: domainOf(summary.from[0].address),
      suppressed: recipients.filter(({ suppressed }) => suppressed).map(({ address }) => address),
      copies,
    }
  }
}

/**
 * Holds the bytes of a message. A large message stays in pieces, which the writer joins: in place, unless a field was
 * removed or added at the end.
 */
function holdBytes(pieces: readonly Buffer[]): MessageBytes {
  const moved = MessageBytes.moved(pieces)
  return moved.length < MOVE_FROM_BYTES ? MessageBytes.lent(joinPieces(pieces, moved.length)) : moved
}

/** Holds the bytes for copies that are made later, so do not free them. A large message is not copied. */
function holdForCopies(pieces: readonly Buffer[]): MessageBytes {
  const last = pieces.findLast(({ length }) => length > 0)
  const joined = last !== undefined && hasHeadroom(last) ? joinInPlace(pieces) : null
  const raw = joined ?? concatAlone(pieces)
  return raw.length < MOVE_FROM_BYTES ? MessageBytes.copied(raw) : MessageBytes.moved([raw])
}

/**
 * Joins the pieces. A large message gets memory that nothing else uses: the memory in which it arrived if the fields
 * fit in front of it, else new memory.
 */
function joinPieces(pieces: readonly Buffer[], bytes: number): Buffer {
  if (bytes < TRANSFER_FROM_BYTES) return Buffer.concat(pieces)
  const last = pieces.findLast(({ length }) => length > 0)
  const isSmall = last !== undefined && last.buffer.byteLength < MOVE_FROM_BYTES
  const joined = isSmall && hasHeadroom(last) ? joinInPlace(pieces) : null
  return joined ?? concatAlone(pieces)
}

/** Plans the copies. The message itself is that of the first recipient, even if that one is suppressed. */
function planRecipientCopies(
  raw: Buffer,
  { personal }: Submission,
  [first, ...others]: readonly NewRecipient[],
): CopyPlan | null {
  if (personal == null || first === undefined) return null
  const ids = others.filter(({ suppressed }) => !suppressed).map(({ id = '' }) => id)
  return planCopies(raw, personal, first.id ?? '', ids)
}

function insertLink(email: NewEmail, { id = '', address, suppressed }: NewRecipient): Write[] {
  if (suppressed) return []
  const { workspace_id, created_at, from_email: sender } = email
  return [insertUnsubscribeLink({ recipient_id: id, workspace_id, email_id: email.id, address, sender, created_at })]
}

interface EmailInput {
  readonly principal: Principal
  readonly submission: Submission
  readonly summary: MessageSummary
  readonly recipients: readonly NewRecipient[]
  readonly messageId: string
  readonly utf8: boolean
  readonly tracking: SubmittedTracking
  readonly copies: CopyPlan | null
}

function buildEmail(input: EmailInput): NewEmail {
  const { principal, submission, summary, recipients, messageId, utf8, tracking, copies } = input
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
    track_opens: tracking.opens ? 1 : 0,
    track_clicks: tracking.clicks ? 1 : 0,
    tracking_skipped: tracking.skipped,
    has_copies: copies === null ? 0 : 1,
    priority: options.priority,
    smtputf8: utf8 ? 1 : 0,
    tls_required: readTlsRequired(submission),
    created_at: submission.now,
    scheduled_for: options.scheduledFor,
    key_id: principal.keyId,
    template_id: submission.templateId,
    broadcast_id: null,
    dropped: options.dropped === true,
  }
}

/** The most octets of a field with one word, including its folding. */
const MAX_WORD = 200

/** Reads what the sender says about TLS (RFC 8689). The parameter of MAIL takes precedence over the header field. */
function readTlsRequired({ message, header }: Submission): TlsRequired | null {
  if (message.requiresTls === true) return 'yes'
  const [field] = findFields(header, 'tls-required')
  return field !== undefined && readFieldValue(message.raw, field, MAX_WORD).trim().toLowerCase() === 'no' ? 'no' : null
}

/** Checks the envelope sender and every From address; returns the domain of the first From. */
async function checkSenders(
  { domains }: PreparerDeps,
  principal: Principal,
  envelopeFrom: Address | '',
  from: MessageSummary['from'],
): Promise<SendingDomain> {
  await checkEnvelopeSender(principal, envelopeFrom, domains)
  const [first, ...others] = from
  const domain = await checkSender(principal, first.address, 'From', domains)
  for (const { address } of others) await checkSender(principal, address, 'From', domains)
  return domain
}

/**
 * Returns each address once. Throws a Refusal if all are suppressed, unless the email is to be kept. The listener
 * bounds their number.
 */
async function resolveRecipients(
  { suppressions }: PreparerDeps,
  workspaceId: string,
  { message: { recipients: submitted }, keepsSuppressed = false }: Submission,
): Promise<NewRecipient[]> {
  const byAddress = new Map<string, NewRecipient>()
  for (const { address, notify, orcpt, id } of submitted) {
    if (byAddress.has(address)) continue
    const reason = await suppressions.findReason(workspaceId, address)
    byAddress.set(address, {
      address,
      suppressed: reason !== null,
      ...(reason === null ? {} : { suppressionReason: reason }),
      notify: notify === null ? null : formatNotify(notify),
      orcpt,
      id,
    })
  }
  const recipients = [...byAddress.values()]
  const suppressed = recipients.filter((recipient) => recipient.suppressed).map(({ address }) => address)
  if (suppressed.length === recipients.length && !keepsSuppressed) {
    throw new Refusal('all-recipients-suppressed', 'all recipients are on the suppression list', { suppressed })
  }
  return recipients
}

/** Returns the envelope recipients that the header does not name: the blind copies. */
function findBlindCopies(recipients: readonly NewRecipient[], named: readonly Mailbox[]): Address[] {
  const names = new Set(named.map(({ address }) => address?.toLowerCase()))
  return recipients.map(({ address }) => address).filter((address) => !names.has(address.toLowerCase()))
}

function toAddressJson(list: readonly Mailbox[]): Json<readonly string[]> {
  return toJson(list.flatMap(({ address }) => (address === null ? [] : [address])))
}

/** Tells whether the header has UTF-8, which needs SMTPUTF8 at every next hop (RFC 6532). */
function hasUtf8(raw: Buffer, header: Header): boolean {
  return !isAscii(raw.subarray(0, header.end))
}

interface TrackedSubmission {
  readonly raw: Buffer
  readonly header: Header
  /** The pieces that follow `raw`. */
  readonly rest: readonly Buffer[]
  readonly tracking: SubmittedTracking
}

/** Tracks a message that was submitted by SMTP, if its header fields or else its domain require that. */
function trackSubmission(
  { tracker }: PreparerDeps,
  workspaceId: string,
  { message: { raw }, header, options, emailId, now, tracking }: Submission,
  { domain, track_opens, track_clicks }: SendingDomain,
): TrackedSubmission {
  if (tracking !== null) return { raw, header, rest: [], tracking }
  const opens = options.trackOpens ?? track_opens === 1
  const clicks = options.trackClicks ?? track_clicks === 1
  const begun = tracker.begin({ workspaceId, emailId, domain, opens, clicks, now })
  const rewritten = begun === null ? null : rewriteMessage(raw, header, begun.trackHtml)
  const skipped = typeof rewritten === 'string' ? rewritten : (begun?.skipped() ?? null)
  if (begun === null || rewritten === null || typeof rewritten === 'string' || skipped !== null) {
    return { raw, header, rest: [], tracking: { opens, clicks, skipped, writes: [] } }
  }
  const [first, ...rest] = rewritten
  const writes = begun.collectWrites()
  return { raw: first, header: scanHeader(first), rest, tracking: { opens, clicks, skipped, writes } }
}
