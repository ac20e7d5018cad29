/**
 * Timeouts of the client in milliseconds.
 *
 * RFC 5321 section 4.5.3.2 asks for 5 minutes for the greeting and for MAIL and RCPT, 2 for DATA, 3 for a block of the
 * message, and 10 for the reply to the final dot. The client follows it from MAIL on, where giving up early costs a
 * transaction or makes a duplicate. Before MAIL, it waits a minute, which is enough to know that another host must be
 * called.
 */
export interface Timeouts {
  readonly connect: number
  readonly banner: number
  readonly ehlo: number
  /** The reply to STARTTLS, and the handshake. */
  readonly starttls: number
  readonly auth: number
  readonly mail: number
  readonly rcpt: number
  readonly data: number
  /** The time until the peer has taken a quarter of a megabyte of the message. */
  readonly block: number
  /** The reply to the final dot. */
  readonly message: number
  readonly quit: number
}

export const defaultTimeouts: Timeouts = {
  connect: 30_000,
  banner: 60_000,
  ehlo: 60_000,
  starttls: 60_000,
  auth: 60_000,
  mail: 300_000,
  rcpt: 300_000,
  data: 120_000,
  block: 180_000,
  message: 600_000,
  quit: 2_000,
}
