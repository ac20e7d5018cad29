/**
 * Takes unprocessed mail of this node from disk, a share of each workspace at a time: a workspace with thousands of messages, or
 * with slow ones, delays only itself.
 *
 * The position in each workspace is kept, so that a message is read once; `takeAll` starts from the beginning
 * again, because a commit may end later than that of a younger message. The messages of a workspace are taken by one
 * caller after the other, and a message that is finished while a page is read is not taken from that page again.
 */

import { createSerialRunner, type SerialRunner } from '../../base/platform/serial-runner.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { nextUnprocessedWorkspace, unprocessedOfWorkspace } from '../../records/messages/inbound/inbound-email.js'
import type { InboundEmail } from '../../records/messages/inbound/inbound-record.js'

/** Messages of one workspace in progress at a time. */
const MAX_IN_PROGRESS = 50

interface WorkspaceState {
  readonly inProgress: Set<string>
  /** Messages that were finished since the page that is being read was asked for. */
  readonly justFinished: Set<string>
  readonly inTurn: SerialRunner
  /** Callers that take messages, or wait for their turn. */
  takers: number
  cursor: { readonly afterTime: number; readonly afterId: string }
  /** The database may have more than were read. */
  hasMore: boolean
}

const START_CURSOR = { afterTime: 0, afterId: '' }

function createState(): WorkspaceState {
  return {
    ...{ inProgress: new Set(), justFinished: new Set(), inTurn: createSerialRunner() },
    ...{ takers: 0, cursor: START_CURSOR, hasMore: false },
  }
}

export class WaitingMail {
  private readonly workspaces = new Map<string, WorkspaceState>()

  constructor(
    private readonly read: Read,
    private readonly node: string,
  ) {}

  /** Messages of all workspaces that can be started now; each counts as in progress from the moment it is yielded. */
  async *takeAll(): AsyncGenerator<InboundEmail> {
    for await (const workspaceId of this.listWorkspaces()) {
      yield* await this.takeInTurn(workspaceId, (workspace) => {
        workspace.cursor = START_CURSOR
        return MAX_IN_PROGRESS
      })
    }
  }

  /** Does the same for one workspace after a new message of it is on disk. */
  takeOfWorkspace(workspaceId: string): Promise<readonly InboundEmail[]> {
    return this.takeInTurn(workspaceId, ({ inProgress }) => MAX_IN_PROGRESS - inProgress.size)
  }

  /** The message is finished. True if the workspace may have another to take its place. */
  finish({ id, workspace_id: workspaceId }: InboundEmail): boolean {
    const workspace = this.workspaces.get(workspaceId)
    if (workspace === undefined) return false
    workspace.inProgress.delete(id)
    if (workspace.takers > 0) workspace.justFinished.add(id)
    if (!workspace.hasMore) this.dropIfIdle(workspaceId, workspace)
    return workspace.hasMore && workspace.inProgress.size <= MAX_IN_PROGRESS / 2
  }

  /** `prepare` returns how many messages may be read. */
  private async takeInTurn(
    workspaceId: string,
    prepare: (workspace: WorkspaceState) => number,
  ): Promise<readonly InboundEmail[]> {
    const workspace = this.workspaces.get(workspaceId) ?? createState()
    this.workspaces.set(workspaceId, workspace)
    workspace.takers += 1
    try {
      return await workspace.inTurn(() => this.takeNext(workspaceId, workspace, prepare(workspace)))
    } finally {
      workspace.takers -= 1
      this.dropIfIdle(workspaceId, workspace)
    }
  }

  private async takeNext(
    workspaceId: string,
    workspace: WorkspaceState,
    limit: number,
  ): Promise<readonly InboundEmail[]> {
    const { inProgress, justFinished } = workspace
    justFinished.clear()
    const query = { node: this.node, workspaceId, ...workspace.cursor, limit }
    const page = limit === 0 ? [] : await unprocessedOfWorkspace(this.read, query)
    workspace.hasMore = page.length === limit
    const batch: InboundEmail[] = []
    for (const email of page) {
      const isKnown = inProgress.has(email.id) || justFinished.has(email.id)
      if (!isKnown && inProgress.size >= MAX_IN_PROGRESS) {
        workspace.hasMore = true
        break
      }
      workspace.cursor = { afterTime: email.received_at, afterId: email.id }
      if (isKnown) continue
      inProgress.add(email.id)
      batch.push(email)
    }
    return batch
  }

  private dropIfIdle(workspaceId: string, { inProgress, takers }: WorkspaceState): void {
    if (inProgress.size === 0 && takers === 0) this.workspaces.delete(workspaceId)
  }

  private async *listWorkspaces(): AsyncGenerator<string> {
    let after = ''
    for (;;) {
      const [next] = await nextUnprocessedWorkspace(this.read, { node: this.node, after })
      if (next === undefined) return
      after = next.workspace_id
      yield after
    }
  }
}
