/**
 * Counts the subscribed contacts of an audience, which are those that a broadcast would reach. Triggers keep the
 * numbers (`storage/schema/audiences.ts`).
 */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

const countsOf = prepareRead<{ workspaceId: string; audienceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('contact_counts')
    .select(['count as contacts', 'subscribed'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('list', '=', slot('audienceId')),
)

interface AudienceNumbers {
  readonly contacts: number
  readonly subscribed: number
}

export function countSubscribed(read: Read, workspaceId: string, audienceId: string): AudienceNumbers {
  return countsOf(read, { workspaceId, audienceId })[0] ?? { contacts: 0, subscribed: 0 }
}
