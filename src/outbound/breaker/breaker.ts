/**
 * The circuit breaker: stores counted outcomes, judges the scopes that they concern, and warns, holds and releases.
 *
 * The breaker judges a scope at once when a bounce or a complaint was counted for it. It judges a scope once a minute
 * if anything was counted for it, or while it is not ok. Only the counts of the last seconds are not on disk yet, so
 * the breaker continues after a restart where it was.
 */

import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import { StorageFault, tryUniqueCommit } from '../../base/storage/db/write.js'
import { daemonActor } from '../../workspaces/accounts/access/audit-log.js'
import { requireWorkspace } from '../../workspaces/accounts/workspace/workspaces.js'
import { type BreakerState, insertState, MAX_STATES, removeState, stateOfScope, statesAfter } from './breaker-states.js'
import { type BroadcastSwitch, endHold, holdScope, isHolding } from './hold-scope.js'
import {
  type BreakerFinding,
  type BreakerLimits,
  type BreakerVerdict,
  describeFinding,
  judgeFigures,
  percentOf,
  worseOf,
} from './judge-figures.js'
import {
  addCounts,
  OWNER_SUBJECT,
  ownerScopeOf,
  readFigures,
  removeReleasedCounts,
  type ScopeRef,
} from './outcome-counts.js'
import { findOwnersHold } from './owners-hold.js'
import type { PendingCounts } from './pending-counts.js'
import { refOf } from './release-scope.js'
import { recordReleaseEvent, recordStateEvent } from './sending-event.js'

/** Milliseconds between two looks at the pending counts. */
const LOOK_INTERVAL = 1_000
/** Milliseconds after which deliveries are stored. The next look stores bounces and complaints. */
const STORE_INTERVAL = 10_000
/** Milliseconds between two judgements of the scopes that have new counts or are not ok. */
const JUDGE_INTERVAL = 60_000
/** Counts of one commit. */
const PORTION = 200
/** The most scopes that one look judges. The others wait for the next look. */
const MAX_JUDGED = 100
/** The most scopes that wait to be judged. The breaker judges a scope that does not fit after its next count. */
const MAX_CHANGED = 10_000

interface BreakerDeps extends Store {
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly limits: () => BreakerLimits & { readonly enabled: boolean }
  readonly counts: PendingCounts
  readonly broadcasts: BroadcastSwitch
  /** Only the node that leads judges what is held already. Each judges the scopes of which it has counted something. */
  readonly leads: () => boolean
  /** The breaker calls this after it has changed hold rules or broadcasts. */
  readonly onHoldsChanged: () => Promise<void>
}

export class Breaker {
  /** The next look judges these scopes. */
  private readonly changed = new Map<string, ScopeRef>()
  /** These scopes have deliveries only, and are judged in the next minute. */
  private active = new Map<string, ScopeRef>()
  private storedAt = 0
  private judgedAt = 0
  private timer: NodeJS.Timeout | null = null
  private working: Promise<void> | null = null
  private isStopping = false
  private isFailing = false

  constructor(private readonly deps: BreakerDeps) {}

  /** Where outcomes are counted. */
  get counts(): PendingCounts {
    return this.deps.counts
  }

  start(): void {
    this.storedAt = this.deps.clock()
    this.timer = setInterval(() => void this.wake(), LOOK_INTERVAL).unref()
    void this.wake()
  }

  /** Looks now, unless a look is under way; resolves when it has ended. */
  async wake(): Promise<void> {
    if (this.isStopping) return
    this.working ??= this.look().finally(() => {
      this.working = null
    })
    await this.working
  }

  /** Stores the pending counts. Call it after delivery has stopped. */
  async stop(): Promise<void> {
    this.isStopping = true
    if (this.timer !== null) clearInterval(this.timer)
    await this.working
    await this.guard(() => this.store())
  }

  /** Call it when these scopes were released: their outcomes that are not stored yet no longer count. */
  async onReleased(scopes: readonly ScopeRef[]): Promise<void> {
    this.deps.counts.forget(scopes)
    await this.deps.onHoldsChanged()
  }

  private async look(): Promise<void> {
    const { clock, counts } = this.deps
    const now = clock()
    await this.guard(async () => {
      if (counts.hasFailures || Math.abs(now - this.storedAt) >= STORE_INTERVAL) {
        this.storedAt = now
        await this.store()
      }
      const isMinute = Math.abs(now - this.judgedAt) >= JUDGE_INTERVAL
      if (isMinute) this.judgedAt = now
      if (isMinute) this.promoteActive()
      if (!this.deps.limits().enabled) this.changed.clear()
      await this.judgeChanged()
      if (isMinute && this.deps.leads()) await this.judgeStates()
    })
  }

  private async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.isFailing = false
    } catch (err) {
      // The log has one line for each outage.
      if (!this.isFailing) this.deps.log.error({ err }, 'the circuit breaker cannot work now')
      this.isFailing = true
    }
  }

  private async store(): Promise<void> {
    const taken = this.deps.counts.take()
    for (let at = 0; at < taken.length; at += PORTION) {
      const portion = taken.slice(at, at + PORTION)
      try {
        await this.deps.commit(portion.map(addCounts))
      } catch (error) {
        if (error instanceof StorageFault) this.deps.counts.putBack(taken.slice(at))
        throw error
      }
      for (const { workspace_id: workspaceId, scope, subject, bounced, complained } of portion) {
        // The sums of an owner are judged together with each workspace of the owner.
        if (subject === OWNER_SUBJECT) continue
        const scopes = bounced + complained === 0 ? this.active : this.changed
        if (scopes.size < MAX_CHANGED) scopes.set(`${workspaceId} ${scope} ${subject}`, { workspaceId, scope, subject })
      }
    }
  }

  private promoteActive(): void {
    for (const [key, ref] of this.active) if (this.changed.size < MAX_CHANGED) this.changed.set(key, ref)
    this.active = new Map()
  }

  private async judgeChanged(): Promise<void> {
    // The widest scope comes first, so that its event precedes the events of the scopes in it.
    const order = { workspace: 0, domain: 1, broadcast: 2 } as const
    const waiting = [...this.changed].slice(0, MAX_JUDGED).sort(([, a], [, b]) => order[a.scope] - order[b.scope])
    for (const [key, ref] of waiting) {
      if (this.isStopping) return
      await waitForStep()
      await this.judge(ref)
      this.changed.delete(key)
    }
  }

  private async judgeStates(): Promise<void> {
    let last: ScopeRef = { workspaceId: '', scope: 'broadcast', subject: '' }
    for (;;) {
      const states = await statesAfter(this.deps.read, { ...last, limit: MAX_STATES })
      for (const state of states) {
        if (this.isStopping) return
        await waitForStep()
        last = refOf(state)
        await this.judge(last)
      }
      if (states.length < MAX_STATES) return
    }
  }

  private async judge({ workspaceId, scope, subject }: ScopeRef): Promise<void> {
    const { read, clock, limits } = this.deps
    const ref = { workspaceId, scope, subject }
    const now = clock()
    const [state] = await stateOfScope(read, ref)
    if (state?.state === 'held' && !(await isHolding(this.deps, state))) return this.forgetHold(state, now)
    const verdict = limits().enabled ? await this.judgeScope(ref, now) : ({ state: 'ok' } as const)
    if (verdict.state === 'ok') {
      if (state !== undefined) await this.leave(state, now)
    } else if (verdict.state === 'held') {
      if (state?.state !== 'held') await this.hold(ref, state, verdict, now)
    } else if (state === undefined) {
      await this.warn(ref, verdict, now)
    }
  }

  /** Judges a workspace by its own figures and by the sums of all workspaces of its owner. The worse verdict counts. */
  private async judgeScope(ref: ScopeRef, now: number): Promise<BreakerVerdict> {
    const { read } = this.deps
    const limits = this.deps.limits()
    const own = judgeFigures(await readFigures(read, ref, now), limits)
    const owner = ref.scope === 'workspace' ? await ownerScopeOf(read, ref.workspaceId) : null
    return owner === null ? own : worseOf(own, judgeFigures(await readFigures(read, owner, now), limits))
  }

  private async hold(
    ref: ScopeRef,
    before: BreakerState | undefined,
    finding: BreakerFinding,
    now: number,
  ): Promise<void> {
    const mayBeHeld = before === undefined && ref.scope === 'workspace'
    // The rule of another workspace of the owner holds this one already.
    if (mayBeHeld && (await findOwnersHold(this.deps.read, ref.workspaceId))) return
    const hold = await this.planHold(ref, finding, now)
    if (hold === null) {
      if (before === undefined) await this.warn(ref, finding, now)
      return
    }
    const state = toState(ref, 'held', finding, hold.holdRule, now)
    const leave = before === undefined ? [] : [removeState(refOf(before))]
    const { workspaceId: id } = ref
    const writes = [requireWorkspace({ id }), ...leave, insertState(state), ...hold.writes, recordStateEvent(state)]
    if (!(await tryUniqueCommit(this.deps.commit(writes)))) return
    this.deps.log.warn(factsOf(state), 'mail is held: too much of it bounced or was reported')
    await this.deps.onHoldsChanged()
  }

  /** Returns null if there is nothing to hold, or no room for another rule. */
  private async planHold(ref: ScopeRef, finding: BreakerFinding, now: number): ReturnType<typeof holdScope> {
    try {
      return await holdScope(this.deps, ref, describeFinding(finding), now)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.deps.log.error({ workspace_id: ref.workspaceId, id: ref.subject, err: error }, 'mail could not be held')
      return null
    }
  }

  private async warn(ref: ScopeRef, finding: BreakerFinding, now: number): Promise<void> {
    const state = toState(ref, 'warning', finding, null, now)
    const writes = [requireWorkspace({ id: ref.workspaceId }), insertState(state), recordStateEvent(state)]
    if (!(await tryUniqueCommit(this.deps.commit(writes)))) return
    this.deps.log.warn(factsOf(state), 'mail will be held if more of it bounces or is reported')
  }

  /** Ends the state of a scope whose figures are under the limits again. */
  private async leave(state: BreakerState, now: number): Promise<void> {
    const isHeld = state.state === 'held'
    const release = isHeld
      ? [...(await endHold(this.deps, state, daemonActor, now)), recordReleaseEvent(state, 'figures', now)]
      : []
    if (!(await tryUniqueCommit(this.deps.commit([removeState(refOf(state)), ...release]))) || !isHeld) return
    this.deps.log.info(factsOf(state), 'mail that was held is released')
    await this.deps.onHoldsChanged()
  }

  /** Forgets a hold that a person has released: they ended its rule, or resumed or cancelled the broadcast. */
  private async forgetHold(state: BreakerState, now: number): Promise<void> {
    const ref = refOf(state)
    const writes = [
      removeState(ref),
      ...(await removeReleasedCounts(this.deps.read, ref)),
      recordReleaseEvent(state, 'person', now),
    ]
    if (await tryUniqueCommit(this.deps.commit(writes))) {
      this.deps.log.info(factsOf(state), 'mail that was held is released')
    }
  }
}

function toState(
  { workspaceId, scope, subject }: ScopeRef,
  state: BreakerState['state'],
  { cause, messages, failures, limitPercent }: BreakerFinding,
  holdRule: string | null,
  now: number,
): BreakerState {
  return {
    ...{ workspace_id: workspaceId, scope, subject, state, cause, since: now },
    ...{ messages, failures, limit_hundredths: Math.round(limitPercent * 100), hold_rule: holdRule },
  }
}

function factsOf(state: BreakerState): Readonly<Record<string, string | number>> {
  const { workspace_id, scope, subject: id, cause, messages, failures } = state
  return { workspace_id, scope, id, cause, messages, failures, percent: percentOf(state) }
}
