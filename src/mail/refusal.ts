/**
 * The one error that a door may translate for a client. Everything else is a bug.
 *
 * `kind` is closed: each door answers it from an exhaustive `Record<RefusalKind, …>`,
 * so a new kind does not compile until every door knows its reply.
 *
 * `message` is for the client: what was wrong, with the value and the rule, never
 * what we run on.
 */
export type RefusalKind =
  /** The message itself is malformed: no From, two From fields, a bad header. */
  | 'malformed-message'
  /** Bare CR, bare LF or NUL in the message. */
  | 'bare-line-break'
  /** A line longer than the limit. */
  | 'line-too-long'
  /** An address that is no address. */
  | 'invalid-address'
  /** A parameter or field whose value is not allowed. */
  | 'invalid-parameter'
  /** A request that misses a field it must have. */
  | 'missing-field'
  /** A body that is no JSON, or JSON that nests too deep. */
  | 'invalid-json'
  | 'unsupported-media-type'
  | 'method-not-allowed'
  /** A key that is wrong or revoked, or whose member is gone. */
  | 'bad-credentials'
  | 'key-expired'
  /** No key where one is needed. */
  | 'authentication-required'
  /** Too many wrong keys. */
  | 'too-many-failures'
  /** The key may not do this. */
  | 'forbidden'
  /** Sender or From in a domain that is not a verified one of the workspace. */
  | 'sender-not-verified'
  /** A recipient of inbound mail that a domain of ours does not have. */
  | 'unknown-recipient'
  /** A recipient of inbound mail in a domain that is none of ours. */
  | 'relay-denied'
  /** A recipient of inbound mail that its domain has blocked. */
  | 'recipient-blocked'
  /** Nobody vouches for the author of inbound mail, whose domain asks to refuse that (DMARC), or nobody can tell who it is. */
  | 'sender-not-authenticated'
  | 'all-recipients-suppressed'
  | 'too-many-recipients'
  /** One attachment over its limit; the message as a whole is `too-large`. */
  | 'attachment-too-large'
  | 'too-large'
  /** The workspace holds as much mail from outside as it may. */
  | 'mailbox-full'
  /** More Received fields than a message can gather without going in circles. */
  | 'mail-loop'
  /** Too many requests in a window. */
  | 'rate-limited'
  /** The emails of the day, of the workspace or of a sender domain, are used up. */
  | 'daily-limit'
  /** The emails of the month are used up. */
  | 'quota-exceeded'
  /** Credits are used up, or a batch asks for more than is left of any quota. */
  | 'insufficient-quota'
  /** An idempotency key with another body, or a state that forbids the act. */
  | 'conflict'
  /** What only a verified domain may do. */
  | 'domain-not-verified'
  /** A sending domain that another workspace has verified. */
  | 'domain-taken'
  | 'not-found'
  | 'email-not-found'
  | 'domain-not-found'
  | 'template-not-found'
  | 'audience-not-found'
  | 'contact-not-found'
  /** Variables that a template uses and the data lacks, or a template that cannot be read. */
  | 'invalid-template-variables'
  /** DNS has another answer for the records of a sending domain than it needs: all kinds of them, */
  | 'domain-not-proved'
  /** only those of its DKIM keys, */
  | 'dkim-not-proved'
  /** only that of its mail host. */
  | 'spf-not-proved'
  /** Somebody whom we must ask does not answer: DNS. */
  | 'no-answer'
  /** Disk full, or nearly: what is acknowledged stays, nothing new is taken. */
  | 'storage-full'
  /** Starting, draining, or over a limit of connections. */
  | 'unavailable'

export class Refusal extends Error {
  override name = 'Refusal'

  constructor(
    readonly kind: RefusalKind,
    message: string,
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
  }
}
