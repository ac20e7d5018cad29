/** A mail transaction from MAIL to DATA, and the message that it becomes. */
import type { Principal } from '../accounts/principal.js'
import type { Address } from '../mail/address.js'
import type { SubmittedMessage, SubmittedRecipient } from '../sending/submitted-message.js'
import type { MailCommand } from './mail-command.js'

export interface Transaction {
  readonly principal: Principal
  readonly mail: MailCommand
  /** A recipient that is named twice is one; the last word counts. */
  readonly recipients: Map<Address, SubmittedRecipient>
}

export function toSubmittedMessage({ mail, recipients }: Transaction, raw: Buffer, protocol: string): SubmittedMessage {
  const { from, envid, ret, smtputf8 } = mail
  return { envelopeFrom: from, envid, ret, smtputf8, recipients: [...recipients.values()], raw, protocol }
}
