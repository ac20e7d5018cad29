/** Reads the event log for the dispatcher: pages of one workspace, and which workspaces have new events. */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

const PAGE_SIZE = 50
export const SCAN_SIZE = 500

const eventsAfter = prepareRead<{ workspaceId: string; seq: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'id', 'type', 'created_at', 'data'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(slot('limit')),
)

export type LoggedEvent = ReturnType<typeof eventsAfter>[number]

/** The next events of a workspace, oldest first; empty: there are none. */
export type ReadEvents = (workspaceId: string, after: number) => readonly LoggedEvent[]

/** Several webhooks of a workspace that are at the same place share a page, until `forget`. */
export function createEventReader(read: Read): { readonly readEvents: ReadEvents; readonly forget: () => void } {
  const pages = new Map<string, readonly LoggedEvent[]>()
  return {
    readEvents: (workspaceId, seq) => {
      const key = `${workspaceId} ${seq}`
      const known = pages.get(key)
      if (known !== undefined) return known
      const page = eventsAfter(read, { workspaceId, seq, limit: PAGE_SIZE })
      pages.set(key, page)
      return page
    },
    forget: () => pages.clear(),
  }
}

/** New events of all workspaces. */
export const newEvents = prepareRead<{ seq: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'workspace_id'])
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(SCAN_SIZE),
)
