/**
 * Finds what the circuit breaker holds of a workspace. The hold may come from the rule of another workspace of the same
 * owner, so that no one evades a hold by sending from another workspace, by giving one away, or by deleting the held
 * one.
 */

import { Refusal } from '../../base/mail/refusal.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { holdRuleOfOwner } from '../../records/messages/queue/hold-rules.js'
import { findOwnerId } from '../../workspaces/accounts/workspace/workspaces.js'
import { type BreakerState, MAX_STATES, stateOfScope, statesOfWorkspace } from './breaker-states.js'

/** Returns the state of the workspace whose rule holds all workspaces of this owner, or undefined if there is none. */
export async function findOwnersHold(read: Read, workspaceId: string): Promise<BreakerState | undefined> {
  const [rule] = await holdRuleOfOwner(read, { owner: await findOwnerId(read, workspaceId) })
  if (rule === undefined) return undefined
  const { workspace_id: held } = rule
  return (await stateOfScope(read, { workspaceId: held, scope: 'workspace', subject: held }))[0]
}

/** Throws a Refusal `conflict` while mail of the workspace is held. `act` is the forbidden act, such as `deleted`. */
export async function requireNothingHeld(read: Read, workspaceId: string, act: string): Promise<void> {
  const own = (await statesOfWorkspace(read, { workspaceId, limit: MAX_STATES })).find(
    (state) => state.hold_rule !== null,
  )
  const held = own ?? (await findOwnersHold(read, workspaceId))
  if (held === undefined) return
  const message =
    `the circuit breaker holds mail of this workspace, which cannot be ${act} now: wait until it has cooled, or ` +
    `release it with POST /v1/breakers/${held.subject}/release, with a key of ${held.workspace_id}`
  throw new Refusal('conflict', message, { workspace_id: held.workspace_id, id: held.subject })
}
