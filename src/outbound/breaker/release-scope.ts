/**
 * Releases the mail of a scope by hand: its hold ends, and its figures start from zero, so that the same bounces do not
 * hold it again. The release of a workspace includes all of its domains and broadcasts, and the other workspaces of its
 * owner that its rule holds.
 */

import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { type Actor, recordAuditEntry } from '../../workspaces/accounts/access/audit-log.js'
import { type BreakerState, MAX_STATES, removeState, statesOfWorkspace } from './breaker-states.js'
import { type BroadcastSwitch, endHold } from './hold-scope.js'
import { percentOf } from './judge-figures.js'
import { removeReleasedCounts, type ScopeRef } from './outcome-counts.js'
import { recordReleaseEvent } from './sending-event.js'

export interface ReleaseDeps extends Store {
  readonly broadcasts: BroadcastSwitch
}

interface Release {
  readonly workspaceId: string
  /** The id of the workspace, the name of a domain, or the id of a broadcast. */
  readonly id: string
  readonly actor: Actor
  readonly now: number
}

/** Resolves to the released scopes. Throws a Refusal `not-found` if nothing with this id is held. */
export async function releaseById(deps: ReleaseDeps, { workspaceId, id, actor, now }: Release): Promise<ScopeRef[]> {
  const states = await statesOfWorkspace(deps.read, { workspaceId, limit: MAX_STATES })
  const meant = states.filter(({ subject, state }) => state === 'held' && subject === id)
  if (meant.length === 0) throw new Refusal('not-found', 'nothing of this id is held', { id })
  const isWhole = id === workspaceId
  const released = isWhole ? states : meant
  for (const state of released) {
    if (state.state === 'held') await releaseOne(deps, state, actor, now)
    else await tryCommit(deps.commit([removeState(refOf(state))]))
  }
  if (isWhole) {
    await deps.commit(await removeReleasedCounts(deps.read, { workspaceId, scope: 'workspace', subject: workspaceId }))
  }
  return released.map(refOf)
}

/** Misses if another request has released or resumed the scope since: then nothing is left to do. */
async function releaseOne(deps: ReleaseDeps, state: BreakerState, actor: Actor, now: number): Promise<void> {
  const writes: readonly Write[] = [
    removeState(refOf(state)),
    ...(await removeReleasedCounts(deps.read, refOf(state))),
    ...(await endHold(deps, state, actor, now)),
    recordReleaseEvent(state, 'person', now),
    recordAct(state, actor, now),
  ]
  await tryCommit(deps.commit(writes))
}

function recordAct(state: BreakerState, actor: Actor, at: number): Write {
  const { workspace_id: workspaceId, scope, subject: target, cause, messages, failures } = state
  const details = { scope, cause, messages, failures, percent: percentOf(state) }
  return recordAuditEntry({ workspaceId, actor, action: 'breaker.released', target, at, details })
}

export function refOf(state: BreakerState): ScopeRef & Pick<BreakerState, 'state' | 'since'> {
  const { workspace_id: workspaceId, scope, subject, state: name, since } = state
  return { workspaceId, scope, subject, state: name, since }
}
