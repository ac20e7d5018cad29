/**
 * A command that violates the protocol, with its SMTP reply. Faults that can occur over REST too are
 * `Refusal`s.
 */
export interface SmtpReply {
  readonly code: number
  /** Enhanced status code (RFC 3463). */
  readonly status: string
  readonly text: string
}

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
