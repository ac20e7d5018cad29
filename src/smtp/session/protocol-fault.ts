/**
 * A command that SMTP itself forbids: the reply belongs to the protocol, no other door
 * could need it. Faults that every door can meet are `Refusal`s.
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
