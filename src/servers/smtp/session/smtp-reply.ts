/**
 * Translates what our functions throw to SMTP replies.
 *
 * A bug of ours must neither disclose its message nor refuse mail permanently: every error that is
 * neither a Refusal nor a ProtocolFault gets a temporary code and a fixed text, and goes to `report`.
 */
import { Refusal, type RefusalKind } from '../../../base/mail/refusal.js'
import { StorageFault } from '../../../base/storage/db/write.js'

export interface SmtpReply {
  readonly code: number
  /** Enhanced status code (RFC 3463). */
  readonly status: string
  readonly text: string
}

/** A command that violates the protocol, with its reply. Faults that can occur over REST too are `Refusal`s. */
export class ProtocolFault extends Error {
  override name = 'ProtocolFault'

  constructor(
    readonly code: number,
    readonly status: string,
    message: string,
  ) {
    super(message)
  }
}

/** Reply code (RFC 5321) and enhanced status code (RFC 3463) of each kind of refusal. */
const replies: Readonly<Record<RefusalKind, readonly [code: number, status: string]>> = {
  'malformed-message': [550, '5.6.0'],
  'bare-line-break': [550, '5.6.11'],
  'line-too-long': [550, '5.6.0'],
  'invalid-address': [553, '5.1.3'],
  'invalid-parameter': [501, '5.5.4'],
  'missing-field': [501, '5.5.4'],
  'invalid-json': [554, '5.6.0'],
  'unsupported-media-type': [554, '5.6.1'],
  'method-not-allowed': [502, '5.5.1'],
  'bad-credentials': [535, '5.7.8'],
  'key-expired': [535, '5.7.8'],
  'signed-out': [530, '5.7.0'],
  'wrong-password': [535, '5.7.8'],
  'authentication-required': [530, '5.7.0'],
  'too-many-failures': [421, '4.7.0'],
  forbidden: [550, '5.7.1'],
  'sender-not-verified': [550, '5.7.1'],
  'unknown-recipient': [550, '5.1.1'],
  'relay-denied': [550, '5.7.1'],
  'recipient-blocked': [550, '5.2.1'],
  'sender-not-authenticated': [550, '5.7.1'],
  'all-recipients-suppressed': [554, '5.7.1'],
  'too-many-recipients': [452, '4.5.3'],
  'attachment-too-large': [552, '5.3.4'],
  'too-large': [552, '5.3.4'],
  'mailbox-full': [452, '4.2.2'],
  'mail-loop': [554, '5.4.6'],
  'rate-limited': [451, '4.7.1'],
  'daily-limit': [452, '4.7.1'],
  'quota-exceeded': [452, '4.7.1'],
  'insufficient-quota': [452, '4.7.1'],
  conflict: [554, '5.5.0'],
  'domain-not-verified': [550, '5.7.1'],
  'domain-taken': [554, '5.5.0'],
  'not-found': [554, '5.5.0'],
  'email-not-found': [554, '5.5.0'],
  'domain-not-found': [554, '5.5.0'],
  'template-not-found': [554, '5.5.0'],
  'audience-not-found': [554, '5.5.0'],
  'contact-not-found': [554, '5.5.0'],
  'webhook-not-found': [554, '5.5.0'],
  'invalid-template-variables': [554, '5.6.0'],
  'domain-not-proved': [550, '5.7.1'],
  'dkim-not-proved': [550, '5.7.1'],
  'spf-not-proved': [550, '5.7.1'],
  'no-answer': [451, '4.4.3'],
  'storage-full': [452, '4.3.1'],
  draining: [451, '4.3.2'],
  unavailable: [421, '4.3.2'],
}

/** A reply line has at most 512 octets (RFC 5321 section 4.5.3.1.5), codes included. */
const MAX_TEXT = 400

export const storageFull: SmtpReply = {
  code: 452,
  status: '4.3.1',
  text: 'insufficient system storage, try again later',
}

const databaseAway: SmtpReply = { code: 451, status: '4.3.0', text: 'the mail cannot be stored now, try again later' }

const localError: SmtpReply = { code: 451, status: '4.3.0', text: 'local error, try again later' }

/** The reply to what was thrown. */
export function toSmtpReply(error: unknown, report: (error: unknown) => void): SmtpReply {
  if (error instanceof Refusal) {
    const [code, status] = replies[error.kind]
    return { code, status, text: toReplyText(error.message) }
  }
  if (error instanceof ProtocolFault)
    return { code: error.code, status: error.status, text: toReplyText(error.message) }
  report(error)
  if (!(error instanceof StorageFault)) return localError
  return error.isOfDisk ? storageFull : databaseAway
}

/** Writes `5.7.1 text`, which follows the reply code on the wire. */
export function formatReplyText({ status, text }: SmtpReply): string {
  return `${status} ${text}`
}

/** Reply text is ASCII (RFC 5321 section 4.2) on one line. */
function toReplyText(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, '?').slice(0, MAX_TEXT)
}
