/**
 * A *refusal* is the only error that a listener may translate for a client: its kind is one of a closed list. Every
 * other error is a bug.
 *
 * `kind` is closed: each listener answers it from an exhaustive `Record<RefusalKind, …>`, so a new kind does
 * not compile until every listener has a reply for it. `message` is for the client: it says what was wrong,
 * with the value and the rule, and nothing about our internals.
 */
export type RefusalKind =
  /** The message itself is malformed: no From, two From fields, a bad header. */
  | 'malformed-message'
  /** Bare CR, bare LF or NUL in the message. */
  | 'bare-line-break'
  /** A line longer than the limit. */
  | 'line-too-long'
  /** A text that is not an address. */
  | 'invalid-address'
  /** A parameter or field whose value is not allowed. */
  | 'invalid-parameter'
  /** A required field is missing. */
  | 'missing-field'
  /** A body that is not JSON, or nests too deep. */
  | 'invalid-json'
  | 'unsupported-media-type'
  | 'method-not-allowed'
  /** The key is wrong or revoked, or its member was removed. */
  | 'bad-credentials'
  | 'key-expired'
  /** There is no session, it has ended, or the second factor is missing. */
  | 'signed-out'
  /** A password or code of a person that is wrong. */
  | 'wrong-password'
  /** There is no key where one is required. */
  | 'authentication-required'
  /** Too many wrong keys. */
  | 'too-many-failures'
  /** The key may not do this. */
  | 'forbidden'
  /** The domain of the sender or of From is not a verified domain of the workspace. */
  | 'sender-not-verified'
  /** A recipient of inbound mail that does not exist in a domain of ours. */
  | 'unknown-recipient'
  /** A recipient of inbound mail in a domain that is not ours. */
  | 'relay-denied'
  /** A recipient of inbound mail that its domain has blocked. */
  | 'recipient-blocked'
  /** Inbound mail fails DMARC and its domain requests to reject it, or its author cannot be determined. */
  | 'sender-not-authenticated'
  | 'all-recipients-suppressed'
  | 'too-many-recipients'
  /** One attachment over its limit; `too-large` is for the entire message. */
  | 'attachment-too-large'
  | 'too-large'
  /** The workspace has used its storage for inbound mail. */
  | 'mailbox-full'
  /** More Received fields than a message has unless it loops. */
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
  /** An act that only a verified domain allows. */
  | 'domain-not-verified'
  /** A sending domain that another workspace has verified. */
  | 'domain-taken'
  | 'not-found'
  | 'email-not-found'
  | 'domain-not-found'
  | 'template-not-found'
  | 'audience-not-found'
  | 'contact-not-found'
  | 'webhook-not-found'
  /** The data lacks variables that a template uses, or the template cannot be parsed. */
  | 'invalid-template-variables'
  /** DNS does not have the expected records of a sending domain: several kinds of them, */
  | 'domain-not-proved'
  /** only those of its DKIM keys, */
  | 'dkim-not-proved'
  /** only that of its mail host. */
  | 'spf-not-proved'
  /** DNS does not answer. */
  | 'no-answer'
  /** The disk is full or nearly full: nothing new is accepted. */
  | 'storage-full'
  /** The node gives its mail to others: new mail belongs to them. */
  | 'draining'
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

/** A Refusal as it is cloned between threads, which lose its class. */
export interface PlainRefusal {
  readonly kind: RefusalKind
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

export function toPlainRefusal({ kind, message, details }: Refusal): PlainRefusal {
  return { kind, message, details }
}

export function reviveRefusal({ kind, message, details }: PlainRefusal): Refusal {
  return new Refusal(kind, message, details)
}
