/**
 * Takes unprocessed mail from disk, a share of each workspace at a time: a workspace with thousands of messages, or
 * with slow ones, delays only itself.
 *
 * The position in each workspace is kept, so that a message is read once; `takeAll` starts from the beginning
 * again, because a commit may end later than that of a younger message.
 */

import type { Read } from '../../base/storage/db/prepared.js'
import { nextUnprocessedWorkspace, unprocessedOfWorkspace } from '../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../records/messages/inbound/inbound-record.js'

/** Messages of one workspace in progress at a time. */
const MAX_IN_PROGRESS = 50

interface WorkspaceState {
  readonly inProgress: Set<string>
  cursor: { readonly afterTime: number; readonly afterId: string }
  /** The database may have more than were read. */
  hasMore: boolean
}

const START_CURSOR = { afterTime: 0, afterId: '' }

function createState(): WorkspaceState {
  return { inProgress: new Set(), cursor: START_CURSOR, hasMore: false }
}

export class WaitingMail {
  private readonly workspaces = new Map<string, WorkspaceState>()

  constructor(private readonly read: Read) {}

  /** Messages of all workspaces that can be started now; each counts as in progress from the moment it is yielded. */
  *takeAll(): Generator<InboundEmail> {
    for (const workspaceId of this.listWorkspaces()) {
      const known = this.workspaces.get(workspaceId)
      if (known !== undefined) known.cursor = START_CURSOR
      yield* this.takeNext(workspaceId, MAX_IN_PROGRESS)
    }
  }

  /** Does the same for one workspace after a new message of it is on disk. */
  takeOfWorkspace(workspaceId: string): readonly InboundEmail[] {
    return this.takeNext(workspaceId, MAX_IN_PROGRESS - (this.workspaces.get(workspaceId)?.inProgress.size ?? 0))
  }

  /** The message is finished. True if the workspace may have another to take its place. */
  finish({ id, workspace_id: workspaceId }: InboundEmail): boolean {
    const workspace = this.workspaces.get(workspaceId)
    if (workspace === undefined) return false
    workspace.inProgress.delete(id)
    if (workspace.inProgress.size === 0 && !workspace.hasMore) this.workspaces.delete(workspaceId)
    return workspace.hasMore && workspace.inProgress.size <= MAX_IN_PROGRESS / 2
  }

  private takeNext(workspaceId: string, limit: number): readonly InboundEmail[] {
    const workspace = this.workspaces.get(workspaceId) ?? createState()
    this.workspaces.set(workspaceId, workspace)
    const page = limit === 0 ? [] : unprocessedOfWorkspace(this.read, { workspaceId, ...workspace.cursor, limit })
    workspace.hasMore = page.length === limit
    const { inProgress } = workspace
    const batch: InboundEmail[] = []
    for (const email of page) {
      const isKnown = inProgress.has(email.id)
      if (!isKnown && inProgress.size >= MAX_IN_PROGRESS) {
        workspace.hasMore = true
        break
      }
      workspace.cursor = { afterTime: email.received_at, afterId: email.id }
      inProgress.add(email.id)
      if (!isKnown) batch.push(email)
    }
    if (inProgress.size === 0) this.workspaces.delete(workspaceId)
    return batch
  }

  private *listWorkspaces(): Generator<string> {
    let after = ''
    for (;;) {
      const [next] = nextUnprocessedWorkspace(this.read, { after })
      if (next === undefined) return
      after = next.workspace_id
      yield after
    }
  }
}
