/**
 * The mail on disk that nobody has looked at, a share of each workspace at a time: whoever has
 * thousands of messages waiting, or some that take long, waits for them alone.
 *
 * A workspace keeps its place, so that a message is read once; `nextOfAll` looks from the start
 * again, because a commit may end later than one of a younger message.
 */
import { type InboundEmail, nextWorkspaceWithWaiting, waitingInbound } from '../messages/inbound/inbound-email.js'
import type { Read } from '../storage/prepared.js'

/** Of one workspace under way at a time. */
const SHARE = 50

interface Workspace {
  readonly underWay: Set<string>
  place: { readonly afterTime: number; readonly afterId: string }
  /** The database may have more than was read. */
  more: boolean
}

const START = { afterTime: 0, afterId: '' }

export class WaitingMail {
  private readonly workspaces = new Map<string, Workspace>()

  constructor(private readonly read: Read) {}

  /** What can be taken up now of all workspaces; each counts as under way from the moment it is given out. */
  *nextOfAll(): Generator<InboundEmail> {
    for (const workspaceId of this.waitingWorkspaces()) {
      const known = this.workspaces.get(workspaceId)
      if (known !== undefined) known.place = START
      yield* this.nextOf(workspaceId, SHARE)
    }
  }

  /** The same of one workspace, of which something new is on disk. */
  next(workspaceId: string): readonly InboundEmail[] {
    return this.nextOf(workspaceId, SHARE - (this.workspaces.get(workspaceId)?.underWay.size ?? 0))
  }

  /** It is not under way any more. True: `next` may have something to take its place. */
  ended({ id, workspace_id: workspaceId }: InboundEmail): boolean {
    const workspace = this.workspaces.get(workspaceId)
    if (workspace === undefined) return false
    workspace.underWay.delete(id)
    if (workspace.underWay.size === 0 && !workspace.more) this.workspaces.delete(workspaceId)
    return workspace.more && workspace.underWay.size <= SHARE / 2
  }

  private nextOf(workspaceId: string, limit: number): readonly InboundEmail[] {
    const workspace = this.workspaces.get(workspaceId) ?? { underWay: new Set(), place: START, more: false }
    this.workspaces.set(workspaceId, workspace)
    const page = limit === 0 ? [] : waitingInbound(this.read, { workspaceId, ...workspace.place, limit })
    workspace.more = page.length === limit
    const { underWay } = workspace
    const taken: InboundEmail[] = []
    for (const email of page) {
      const isKnown = underWay.has(email.id)
      if (!isKnown && underWay.size >= SHARE) {
        workspace.more = true
        break
      }
      workspace.place = { afterTime: email.received_at, afterId: email.id }
      underWay.add(email.id)
      if (!isKnown) taken.push(email)
    }
    if (underWay.size === 0) this.workspaces.delete(workspaceId)
    return taken
  }

  private *waitingWorkspaces(): Generator<string> {
    let after = ''
    for (;;) {
      const [next] = nextWorkspaceWithWaiting(this.read, { after })
      if (next === undefined) return
      after = next.workspace_id
      yield after
    }
  }
}
