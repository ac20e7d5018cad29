/** Reads the event log for the dispatcher: pages of one workspace, and the workspaces that have new events. */
import { eventsOfAllSlots } from '../../base/storage/db/event-slots.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

const PAGE_SIZE = 50
export const SCAN_SIZE = 500

const fields = ['seq', 'id', 'type', 'created_at', 'data'] as const

interface Place {
  readonly workspaceId: string
  readonly seq: number
  readonly limit: number
}

const eventsOfSlotAfter = prepareRead<Place & { readonly inSlot: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(fields)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('slot', '=', slot('inSlot'))
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(slot('limit')),
)

const eventsAfter = prepareRead<Place>()(({ db, slot }) =>
  db
    .selectFrom(
      eventsOfAllSlots({ workspaceId: slot('workspaceId'), seq: slot('seq'), limit: slot('limit') }).as('found'),
    )
    .select(fields)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(slot('limit')),
)

export type LoggedEvent = Awaited<ReturnType<typeof eventsOfSlotAfter>>[number]

/** Webhooks of a workspace that are at the same place share a page, until `forget`. */
export class EventPages {
  private readonly pages = new Map<string, Promise<readonly LoggedEvent[]>>()

  constructor(private readonly read: Read) {}

  /**
   * The next events of a workspace, oldest first, of one slot or, if that is null, of all. The list is empty if there are
   * none.
   */
  after(workspaceId: string, seq: number, slot: number | null): Promise<readonly LoggedEvent[]> {
    const key = `${workspaceId} ${seq} ${slot ?? ''}`
    const known = this.pages.get(key)
    if (known !== undefined) return known
    const page = this.readPage({ workspaceId, seq, limit: PAGE_SIZE }, slot)
    this.pages.set(key, page)
    // One that could not be read is read again.
    page.catch(() => this.pages.get(key) === page && this.pages.delete(key))
    return page
  }

  forget(): void {
    this.pages.clear()
  }

  private async readPage(place: Place, slot: number | null): Promise<readonly LoggedEvent[]> {
    return slot === null ? eventsAfter(this.read, place) : eventsOfSlotAfter(this.read, { ...place, inSlot: slot })
  }
}

/** The new events of all workspaces in a slot. */
export const newEvents = prepareRead<{ slot: number; seq: number }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'workspace_id'])
    .where('slot', '=', slot('slot'))
    .where('seq', '>', slot('seq'))
    .orderBy('seq')
    .limit(SCAN_SIZE),
)
