/** A message whose bytes are stored, sent or received, for commands that show it. */
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { recipientsOfEmail } from '../../../records/messages/email/recipients.js'
import type { EmailLookup } from '../../../records/messages/email-details.js'
import { readOutgoingMessage } from '../../../records/messages/email-resource.js'
import { readInboundRaw } from '../../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { CommandFailed } from '../command/command.js'

export interface StoredMessage {
  readonly kind: 'email' | 'inbound'
  readonly id: string
  readonly workspaceId: string
  readonly status: string
  /** What the record says beside the header. */
  readonly notes: readonly (readonly [name: string, value: string])[]
  /** Rejects if the bytes are no longer stored, or if the recipient gets no message. */
  readonly read: () => Promise<readonly Buffer[]>
}

const MAX_LISTED = 10

function describeEnvelope(from: string, to: readonly string[]): string {
  const more = to.length - MAX_LISTED
  return `<${from}> to ${to.slice(0, MAX_LISTED).join(' ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Where recipients get different bytes, it is the message of the recipient that was named, else of the first one. */
export async function storedEmail(read: Read, { email, recipientId }: EmailLookup): Promise<StoredMessage> {
  const { id, workspace_id: workspaceId, status, created_at, has_copies } = email
  const recipients = await recipientsOfEmail(read, { workspaceId, emailId: id })
  const recipient = recipients.find((one) => one.id === recipientId)
  const copyOf = recipient ?? (has_copies === 0 ? undefined : recipients[0])
  return {
    ...{ kind: 'email', id, workspaceId, status },
    notes: [
      ['accepted', formatTimestamp(created_at)],
      [
        'envelope',
        describeEnvelope(
          email.envelope_from,
          recipients.map(({ address }) => address),
        ),
      ],
      ...(copyOf === undefined ? [] : [['as sent to', copyOf.address] as const]),
    ],
    read: () => {
      const address = recipient === undefined ? null : tryParseForeignAddress(recipient.address)
      return readOutgoingMessage(read, { workspaceId, ownKey: null }, id, address)
    },
  }
}

export function storedInbound(read: Read, inbound: InboundEmail): StoredMessage {
  const { id, workspace_id: workspaceId, status, received_at, envelope_from } = inbound
  return {
    ...{ kind: 'inbound', id, workspaceId, status },
    notes: [
      ['received', formatTimestamp(received_at)],
      ['envelope', describeEnvelope(envelope_from, parseJson(inbound.envelope_to))],
    ],
    read: async () => {
      const raw = await readInboundRaw(read, { workspaceId, id })
      if (raw !== undefined) return [raw]
      const kept = 'messages are kept for a time (retention.messages), their records longer'
      throw new CommandFailed(`the message of inbound email ${id} is no longer stored: ${kept}`)
    },
  }
}
