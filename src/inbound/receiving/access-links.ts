/**
 * Recognizes mail of the service whose link gives access to an account or a workspace, when it comes back to a domain that
 * we receive for. Each member and key that may read inbound mail could use the link, so such mail is forwarded by the
 * rules of the domain, but it is never filed, and no webhook gets it.
 */
import type { Address } from '../../base/mail/address.js'
import { findFields, readFieldValue } from '../../base/mail/header-fields.js'
import { readOwnMessageId } from '../../base/mail/message-id.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { emailById } from '../../records/messages/email/email.js'
import { givesAccess } from '../../records/messages/service-email.js'
import type { ReceivedMessage } from './authentication/received-message.js'

export class AccessLinks {
  constructor(
    private readonly read: Read,
    private readonly hostname: string,
  ) {}

  /** Mail of the service comes from the null sender, and has the id of its record in its Message-ID. */
  async areIn(envelopeFrom: Address | '', messageId: string | null): Promise<boolean> {
    if (envelopeFrom !== '' || messageId === null) return false
    const id = readOwnMessageId(messageId, this.hostname)
    if (id === null) return false
    const [email] = await emailById(this.read, { workspaceId: SERVICE_WORKSPACE, id })
    return email !== undefined && givesAccess(email)
  }

  /** Call it while the bytes of the message are here. */
  async areInReceived({ envelopeFrom, header, bytes }: ReceivedMessage): Promise<boolean> {
    const [field] = envelopeFrom === '' ? findFields(header, 'message-id') : []
    return field !== undefined && (await this.areIn(envelopeFrom, readFieldValue(bytes.read(), field)))
  }
}
