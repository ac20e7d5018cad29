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

export type LoggedEvent = Awaited<ReturnType<typeof eventsAfter>>[number]

/** Webhooks of a workspace that are at the same place share a page, until `forget`. */
export class EventPages {
  private readonly pages = new Map<string, Promise<readonly LoggedEvent[]>>()

  constructor(private readonly read: Read) {}

  /** The next events of a workspace, oldest first. The list is empty if there are none. */
  after(workspaceId: string, seq: number): Promise<readonly LoggedEvent[]> {
    const key = `${workspaceId} ${seq}`
    const known = this.pages.get(key)
    if (known !== undefined) return known
    const page = this.readPage(workspaceId, seq)
    this.pages.set(key, page)
    // One that could not be read is read again.
    page.catch(() => this.pages.get(key) === page && this.pages.delete(key))
    return page
  }

  forget(): void {
    this.pages.clear()
  }

  private async readPage(workspaceId: string, seq: number): Promise<readonly LoggedEvent[]> {
    return eventsAfter(this.read, { workspaceId, seq, limit: PAGE_SIZE })
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
