/** The exit status of sendmail, as programs that call it know it from sysexits.h, and the errors that end with one. */

export const exitCodes = {
  ok: 0,
  usage: 64,
  dataError: 65,
  noUser: 67,
  unavailable: 69,
  temporaryFailure: 75,
  noPermission: 77,
  configuration: 78,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The message is for the person who reads the log of the calling program. */
export class SendmailFault extends Error {
  override name = 'SendmailFault'

  constructor(
    readonly exitCode: ExitCode,
    message: string,
    /** True if no server answered, so that no other message can be sent now. */
    readonly isServerAway = false,
  ) {
    super(message)
  }
}
