/**
 * Finds the emails of a request by their Message-ID, if this server wrote it: several emails of one request may have the
 * same. There is no index of Message-IDs. The id has the time of the request, and so do its emails.
 */
import { timeOfUuid } from '../../../base/platform/ids.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'

/** The emails of a workspace that may have been accepted in one millisecond. */
const MAX_EMAILS = 2_000

const ofMoment = prepareRead<{ workspaceId: string; at: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'message_id'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('created_at', '=', slot('at'))
    .limit(slot('limit')),
)

/** `messageId` has no angle brackets. Empty if a client wrote it, or no email has it. */
export async function findEmailsOfRequest(
  read: Read,
  { workspaceId, messageId }: { readonly workspaceId: string; readonly messageId: string },
): Promise<readonly string[]> {
  const at = timeOfUuid(messageId.split('@', 1)[0] ?? '')
  if (at === null) return []
  return (await ofMoment(read, { workspaceId, at, limit: MAX_EMAILS }))
    .filter((row) => row.message_id === `<${messageId}>`)
    .map(({ id }) => id)
}
