/** Finds earlier events of the same type and workspace, which say whether another notice is due. */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { type Json, parseJson, type Timestamp } from '../../base/storage/tables/columns.js'
import type { EventType, InternalEventType } from '../../base/storage/tables/email-tables.js'

interface EarlierEvent<Data> {
  readonly data: Data
  readonly created_at: Timestamp
}

interface Search {
  readonly workspaceId: string
  /** The event that is looked back from. */
  readonly seq: number
}

/** Newest first, at most `limit`. */
export function prepareEarlierEvents<Data>(
  type: EventType | InternalEventType,
  limit: number,
): (read: Read, search: Search) => Promise<readonly EarlierEvent<Data>[]> {
  const findEarlier = prepareRead<Search>()(({ db, slot }) =>
    db
      .selectFrom('events')
      .select(['data', 'created_at'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where('type', '=', type)
      .where('seq', '<', slot('seq'))
      .orderBy('seq', 'desc')
      .limit(limit)
      .$castTo<{ readonly data: Json<Data>; readonly created_at: Timestamp }>(),
  )
  return async (read, search) =>
    (await findEarlier(read, search)).map(({ data, ...rest }) => ({ ...rest, data: parseJson(data) }))
}
