/**
 * Writes the hold and the release of the mail of a scope. A hold rule holds the mail of a workspace or a domain; a
 * broadcast is held by pausing it. The rule of a workspace holds every workspace of its owner, and stays with the owner
 * when the workspace is transferred. Held mail stays in the queue, and mail that is accepted during the hold is held
 * too.
 */

import { parseDomainName } from '../../base/mail/address.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { createHoldRule, endHoldRule, holdRuleById } from '../../records/messages/queue/hold-rules.js'
import { type Actor, daemonActor } from '../../workspaces/accounts/access/audit-log.js'
import type { BreakerState } from './breaker-states.js'
import { ownerScopeOf, type ScopeRef } from './outcome-counts.js'

interface BroadcastRef {
  readonly workspaceId: string
  readonly id: string
}

/** What the breaker does with broadcasts, which belong to a room above. */
export interface BroadcastSwitch {
  readonly statusOf: (broadcast: BroadcastRef) => Promise<'sending' | 'paused' | 'ended'>
  /** Misses if the broadcast is not sending. */
  readonly pause: (broadcast: BroadcastRef & { readonly now: number; readonly note: string }) => Write
  /** Misses if the broadcast is not paused. */
  readonly resume: (broadcast: BroadcastRef & { readonly now: number }) => Write
}

interface HoldDeps {
  readonly read: Read
  readonly broadcasts: BroadcastSwitch
}

interface Hold {
  readonly holdRule: string | null
  readonly writes: readonly Write[]
}

/**
 * Returns null if there is nothing to hold, for example if the broadcast has ended. Throws a Refusal if there are too
 * many rules.
 */
export async function holdScope(
  { read, broadcasts }: HoldDeps,
  { workspaceId, scope, subject }: ScopeRef,
  reason: string,
  now: number,
): Promise<Hold | null> {
  if (scope === 'broadcast') {
    const ref = { workspaceId, id: subject }
    if ((await broadcasts.statusOf(ref)) !== 'sending') return null
    return { holdRule: null, writes: [broadcasts.pause({ ...ref, now, note: reason })] }
  }
  const sender = scope === 'domain' ? parseDomainName(subject) : null
  const owner = scope === 'workspace' ? ((await ownerScopeOf(read, workspaceId))?.workspaceId ?? null) : null
  const criteria = { workspaceId, domain: null, sender, pattern: null, until: null, reason, owner }
  const { rule, writes } = await createHoldRule(read, criteria, daemonActor, now)
  return { holdRule: rule.id, writes }
}

/** Returns false if the operator has ended the rule, or if the broadcast was resumed or cancelled. */
export async function isHolding({ read, broadcasts }: HoldDeps, state: BreakerState): Promise<boolean> {
  const { workspace_id: workspaceId, subject, hold_rule: id } = state
  if (id === null) return (await broadcasts.statusOf({ workspaceId, id: subject })) === 'paused'
  return (await holdRuleById(read, { id }))[0]?.ending === 0
}

/** Returns the writes that end the hold: none if it holds nothing now. */
export async function endHold(
  deps: HoldDeps,
  state: BreakerState,
  actor: Actor,
  now: number,
): Promise<readonly Write[]> {
  if (!(await isHolding(deps, state))) return []
  const { workspace_id: workspaceId, subject, hold_rule: id } = state
  if (id === null) return [deps.broadcasts.resume({ workspaceId, id: subject, now })]
  const [rule] = await holdRuleById(deps.read, { id })
  return rule === undefined ? [] : endHoldRule(rule, actor, now)
}
