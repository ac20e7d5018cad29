/** Reads what some formats need of the record of an email. */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import { EventData } from './formats/event-data.js'
import type { EmailFacts } from './formats/event-format.js'

const factsOfEmail = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['message_id', 'from_email', 'to_emails', 'subject', 'tags', 'size', 'opened_at'])
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** `data` is the payload of an event about the email. Null if the email is gone. */
export async function findEmailFacts(read: Read, workspaceId: string, data: string): Promise<EmailFacts | null> {
  const [found] = await factsOfEmail(read, { workspaceId, id: new EventData(data).text('email_id') })
  return found === undefined ? null : { ...found, tags: parseJson(found.tags), to_emails: parseJson(found.to_emails) }
}
