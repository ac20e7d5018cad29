/** The domain of the sender of an entry's message. */
import { domainOf } from '../../../base/mail/address.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'

const senderOfEmail = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select('from_email')
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Null: the message is gone. */
export function readSenderDomain(
  read: Read,
  { email_id: id, workspace_id: workspaceId }: Pick<QueueEntry, 'email_id' | 'workspace_id'>,
): string | null {
  const [email] = senderOfEmail(read, { id, workspaceId })
  return email === undefined ? null : domainOf(email.from_email)
}
