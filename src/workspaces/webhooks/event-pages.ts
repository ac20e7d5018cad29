/** Reads the event log for the dispatcher: pages of one workspace, and the workspaces that have new events. */
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

/** Webhooks of a workspace that are at the same place share a page, until `forget`. */
export class EventPages {
  private readonly pages = new Map<string, readonly LoggedEvent[]>()

  constructor(private readonly read: Read) {}

  /** The next events of a workspace, oldest first. The list is empty if there are none. */
  after(workspaceId: string, seq: number): readonly LoggedEvent[] {
    const key = `${workspaceId} ${seq}`
    const known = this.pages.get(key)
    if (known !== undefined) return known
    const page = eventsAfter(this.read, { workspaceId, seq, limit: PAGE_SIZE })
    this.pages.set(key, page)
    return page
  }

  forget(): void {
    this.pages.clear()
  }
}

/** The new events of all workspaces. */
export const newEvents = prepareRead<{ seq: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'workspace_id'])
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(SCAN_SIZE),
)
