/**
 * Accepts a message that a client has composed: the bytes of RFC 5322 with an envelope, as over SMTP. Its service header
 * fields say how it is sent.
 */
import { setImmediate } from 'node:timers/promises'
import type { ReadSettings } from '../../../base/config/live-config.js'
import { type Address, tryParseAddress } from '../../../base/mail/address.js'
import { findFields, type Header, scanHeader } from '../../../base/mail/header-fields.js'
import { readHeaderMailboxes } from '../../../base/mail/header-mailboxes.js'
import { withCrlf } from '../../../base/mail/line-ends.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { LineWrapper } from '../../../outbound/sending/line-wrapper.js'
import type { SubmissionAcceptor, SubmissionExtras } from '../../../outbound/sending/submission-acceptor.js'
import type { SubmittedMessage } from '../../../outbound/sending/submitted-message.js'
import { emailById } from '../../../records/messages/email/email.js'
import { recipientsOfEmail } from '../../../records/messages/email/recipients.js'
import { checkLines } from '../../../records/messages/message-lines.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import type { Call } from '../http/route/route.js'
import { type CreatedEmail, describeCreated } from './created-email.js'
import { requireDiskSpace } from './email-acceptance.js'
import { readIdempotencyKey } from './idempotency-key.js'

/** Recipients of one message (RFC 5321 section 4.5.3.1.8). */
const MAX_RECIPIENTS = 100

interface MessageDeps {
  readonly read: Read
  readonly acceptor: SubmissionAcceptor
  readonly settings: ReadSettings
  readonly lineWrapper: LineWrapper
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
}

/** A message and its envelope. What is absent of the envelope is read from the header. */
interface GivenMessage {
  readonly raw: Buffer
  readonly from?: Address | undefined
  readonly to?: readonly Address[] | undefined
}

/** What a request says beyond the message. Its idempotency key is read here, so that no route can forget it. */
type RequestExtras = Omit<SubmissionExtras, 'source' | 'idempotencyKey'>

export class MessageAcceptance {
  constructor(private readonly deps: MessageDeps) {}

  /** Resolves to the id of the email once it is on disk. Rejects with a Refusal if it may not be sent. */
  async accept(call: Call<unknown, unknown>, given: GivenMessage, extras: RequestExtras = {}): Promise<string> {
    const { principal } = call
    const idempotencyKey = readIdempotencyKey(call)
    requireDiskSpace(this.deps)
    const { max_line_length: maxLineOctets, max_size: limit } = this.deps.settings().submission
    const lines = await withOneLineEnd(given.raw)
    if (lines.length > limit) throw tooLargeRefusal(lines.length, limit)
    const isReplaced = principal.sender !== null
    const wrapping = isReplaced ? { wrapper: this.deps.lineWrapper, workspaceId: principal.workspaceId } : null
    const raw = await checkLines(lines, { maxLineOctets, onMailboxLine: () => undefined, wrapping })
    const header = scanHeader(raw)
    const recipients = given.to ?? readRecipients(raw, header)
    requireRecipients(recipients)
    const message: SubmittedMessage = {
      envelopeFrom: given.from ?? (isReplaced ? '' : readSender(raw, header)),
      ...{ envid: null, ret: null, raw },
      recipients: recipients.map((address) => ({ address, notify: null, orcpt: null })),
      ...{ smtputf8: true, protocol: 'HTTPS' },
    }
    const { emailId } = await this.deps.acceptor.accept(principal, message, {
      ...extras,
      source: 'rest',
      idempotencyKey,
    })
    return emailId
  }

  /** What an answer says of an email that was accepted. */
  async describe({ workspaceId }: Principal, id: string): Promise<CreatedEmail> {
    const [email] = await emailById(this.deps.read, { workspaceId, id })
    if (email === undefined) throw new Error('an accepted email is not there')
    const suppressed = (await recipientsOfEmail(this.deps.read, { workspaceId, emailId: id }))
      .filter(({ status }) => status === 'suppressed')
      .map(({ address }) => address)
    return describeCreated(email, { from: email.from_email, to: parseJson(email.to_emails), suppressed })
  }
}

const CR = 0x0d
/** Bytes that are converted before others have their turn. */
const STEP = 131_072

/** Libraries write messages with the line ends of their system, and SMTP clients convert them. */
async function withOneLineEnd(raw: Buffer): Promise<Buffer> {
  const first = raw.indexOf('\n')
  if (first === -1 || raw[first - 1] === CR) return raw
  const pieces: Buffer[] = []
  for (let from = 0; from < raw.length; ) {
    const lineEnd = raw.indexOf('\n', from + STEP)
    const cut = lineEnd === -1 || lineEnd > from + 2 * STEP ? Math.min(raw.length, from + 2 * STEP) : lineEnd + 1
    // CR and LF stay together.
    const end = cut < raw.length && raw[cut - 1] === CR ? cut - 1 : cut
    pieces.push(withCrlf(raw.subarray(from, end)))
    from = end
    await setImmediate()
  }
  return Buffer.concat(pieces)
}

function readSender(raw: Buffer, header: Header): Address {
  const name = findFields(header, 'sender').length > 0 ? 'sender' : 'from'
  const [mailbox] = readHeaderMailboxes(raw, header, name)
  const address = mailbox?.address == null ? null : tryParseAddress(mailbox.address)
  if (address !== null) return address
  throw new Refusal('invalid-address', `${name}: the message names no mail address as its sender`, { field: name })
}

/** Those of To, Cc and Bcc, each once. */
function readRecipients(raw: Buffer, header: Header): readonly Address[] {
  const named = ['to', 'cc', 'bcc'].flatMap((name) => readHeaderMailboxes(raw, header, name))
  const addresses = named.flatMap(({ address }) => (address === null ? [] : (tryParseAddress(address) ?? [])))
  return [...new Set(addresses)]
}

function requireRecipients({ length }: readonly Address[]): void {
  if (length === 0) {
    const message = 'to: the message names no recipients: name them in the query, such as ?to=bob@example.com'
    throw new Refusal('missing-field', message, { field: 'to' })
  }
  if (length <= MAX_RECIPIENTS) return
  const message = `to: ${length} recipients, allowed: ${MAX_RECIPIENTS} for one message`
  throw new Refusal('too-many-recipients', message, { field: 'to', value: length })
}

function tooLargeRefusal(size: number, limit: number): Refusal {
  return new Refusal('too-large', `the message has ${size} bytes, allowed: ${limit}`, { size, limit })
}
