/** Lists what the breaker shows: the workspace, and each scope in it that is not ok, with its present figures. */
import type { Read } from '../../base/storage/db/prepared.js'
import { type BreakerState, MAX_STATES, statesOfWorkspace } from './breaker-states.js'
import { describeFinding, type Figures } from './judge-figures.js'
import { readFigures, type ScopeRef } from './outcome-counts.js'
import { findOwnersHold } from './owners-hold.js'

export interface ShownScope {
  readonly scope: BreakerState['scope']
  readonly id: string
  readonly state: 'ok' | BreakerState['state']
  readonly since: number | null
  /** The figures that led to the state, as a sentence. Null means that the scope is ok. */
  readonly reason: string | null
  /** The figures of the windows that end now. */
  readonly figures: Figures
}

export async function listScopes(read: Read, workspaceId: string, now: number): Promise<readonly ShownScope[]> {
  const states = await statesOfWorkspace(read, { workspaceId, limit: MAX_STATES })
  const shown = await Promise.all(states.map((state) => showState(read, state, now)))
  const [own, others] = [shown.find(({ id }) => id === workspaceId), shown.filter(({ id }) => id !== workspaceId)]
  const ref = { workspaceId, scope: 'workspace', subject: workspaceId } as const
  return [
    own?.state === 'held' ? own : ((await showOwnersHold(read, ref, now)) ?? own ?? (await showOk(read, ref, now))),
    ...others,
  ]
}

/** Shows the hold of another workspace that also holds this one, because both have the same owner. */
async function showOwnersHold(read: Read, ref: ScopeRef, now: number): Promise<ShownScope | undefined> {
  const held = await findOwnersHold(read, ref.workspaceId)
  if (held === undefined) return undefined
  const reason = `${describeFinding(held)}, from the workspaces of its owner together; it is released in ${held.workspace_id}`
  return { ...(await showOk(read, ref, now)), state: 'held', since: held.since, reason }
}

/** Shows a scope that has no state. */
export async function showOk(read: Read, ref: ScopeRef, now: number): Promise<ShownScope> {
  const { scope, subject: id } = ref
  return { scope, id, state: 'ok', since: null, reason: null, figures: await readFigures(read, ref, now) }
}

async function showState(read: Read, row: BreakerState, now: number): Promise<ShownScope> {
  const { workspace_id: workspaceId, scope, subject, state, since } = row
  const figures = await readFigures(read, { workspaceId, scope, subject }, now)
  return { scope, id: subject, state, since, reason: describeFinding(row), figures }
}
