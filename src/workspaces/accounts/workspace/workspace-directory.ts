/**
 * Knows all workspaces in memory, with their owners and plans. What decides for each message or request, such as fair
 * shares and rate limits, asks it without waiting. We count and share by owner what a tenant could multiply with
 * further workspaces.
 *
 * What it knows stays in force until it is read again: `learn` follows a change of this process, and `reload` follows a
 * commit of another process. Memory: about 200 bytes for each workspace.
 */
import { sql } from 'kysely'
import { createSerialRunner, shareWaitingRun } from '../../../base/platform/serial-runner.js'
import { prepareRead, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'

interface Entry {
  readonly ownerId: string
  readonly plan: string
  /** The number of the reload that has seen it last. */
  readonly seenBy: number
}

function selectEntries({ db }: Pick<StatementBuilder<object>, 'db'>) {
  return db
    .selectFrom('workspaces')
    .leftJoin('members', (join) =>
      join.onRef('members.workspace_id', '=', 'workspaces.id').on('members.role', '=', sql.lit('owner')),
    )
    .select(['workspaces.id', 'workspaces.plan', 'members.user_id as owner_id'])
}

const entriesAfter = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  selectEntries({ db }).where('workspaces.id', '>', slot('after')).orderBy('workspaces.id').limit(slot('limit')),
)

const entryById = prepareRead<{ id: string }>()(({ db, slot }) =>
  selectEntries({ db }).where('workspaces.id', '=', slot('id')),
)

type Row = Awaited<ReturnType<typeof entryById>>[number]

export class WorkspaceDirectory {
  /**
   * Reads all workspaces again. Calls while a reload waits for the one before it share it. It resolves when
   * everything that was committed before the call is in force.
   */
  readonly reload = shareWaitingRun(() => this.readAll())
  /** Call `reload` when another process has changed one of these tables. */
  readonly follows = ['workspaces', 'members'] as const
  private readonly entries = new Map<string, Entry>()
  /** Reads one after the other, so that an older answer never replaces a newer one. */
  private readonly inTurn = createSerialRunner()
  private reloads = 0

  private constructor(
    private readonly read: Read,
    private readonly pageSize: number,
  ) {}

  static async open(read: Read, pageSize = ROW_STEP): Promise<WorkspaceDirectory> {
    const directory = new WorkspaceDirectory(read, pageSize)
    await directory.reload()
    return directory
  }

  /** The id of the user who owns the workspace, or the id of the workspace if it has no owner or is unknown. */
  readonly ownerOf = (workspaceId: string): string => this.entries.get(workspaceId)?.ownerId ?? workspaceId

  /** Returns what `ownerOf` does, but undefined if the workspace is unknown, such as one that another node has just made. */
  knownOwnerOf(workspaceId: string): string | undefined {
    return this.entries.get(workspaceId)?.ownerId
  }

  /** The name of its plan, as it is stored, or undefined if the workspace is unknown. */
  planOf(workspaceId: string): string | undefined {
    return this.entries.get(workspaceId)?.plan
  }

  /** Reads a workspace again. Call this when this process has created, transferred, closed or changed it. */
  learn(workspaceId: string): Promise<void> {
    return this.inTurn(async () => {
      const [row] = await entryById(this.read, { id: workspaceId })
      if (row === undefined) this.entries.delete(workspaceId)
      else this.note(row)
    })
  }

  private async readAll(): Promise<void> {
    this.reloads += 1
    let page = await this.readPage('')
    for (let last = page.at(-1); last !== undefined && page.length === this.pageSize; last = page.at(-1)) {
      await waitForStep()
      page = await this.readPage(last.id)
    }
    for (const [id, { seenBy }] of this.entries) if (seenBy < this.reloads) this.entries.delete(id)
  }

  private readPage(after: string): Promise<readonly Row[]> {
    return this.inTurn(async () => {
      const rows = await entriesAfter(this.read, { after, limit: this.pageSize })
      for (const row of rows) this.note(row)
      return rows
    })
  }

  private note({ id, plan, owner_id: ownerId }: Row): void {
    this.entries.set(id, { ownerId: ownerId ?? id, plan, seenBy: this.reloads })
  }
}
