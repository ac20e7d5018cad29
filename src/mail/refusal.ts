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
  /** A key that is wrong, revoked or expired. */
  | 'bad-credentials'
  /** No key where one is needed. */
  | 'authentication-required'
  /** Too many wrong keys. */
  | 'too-many-failures'
  /** The key may not do this. */
  | 'forbidden'
  /** Sender or From in a domain that is not a verified one of the workspace. */
  | 'sender-not-verified'
  | 'all-recipients-suppressed'
  | 'too-many-recipients'
  | 'too-large'
  /** More Received fields than a message can gather without going in circles. */
  | 'mail-loop'
  | 'rate-limited'
  | 'quota-exceeded'
  /** An idempotency key with another body, or a state that forbids the act. */
  | 'conflict'
  | 'not-found'
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
