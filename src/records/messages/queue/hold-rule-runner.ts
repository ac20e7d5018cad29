/**
 * Keeps hold rules in effect: judges each entry before its attempt, holds in steps what waited when a rule was made,
 * ends rules whose time is over, and releases the entries of rules that end.
 *
 * Without rules an entry costs one comparison. The progress of the walks is on disk (`cursor`, `ending`), so a restart
 * continues them.
 */

import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { createSerialRunner } from '../../../base/platform/serial-runner.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { countChange } from '../../../base/storage/db/table-changes.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { daemonActor } from '../../../workspaces/accounts/access/audit-log.js'
import { compileHoldRules, type MatchHoldRule } from './hold-rule-matcher.js'
import { allHoldRules, endHoldRule, type HoldRule, removeHoldRule } from './hold-rules.js'
import type { QueueEntry } from './queue.js'
import { holdByRule, holdNextEntries, holdsEntries, releaseNextEntries } from './ruled-entries.js'

/** Milliseconds between two checks of the ends of rules. */
const CHECK_INTERVAL = 1_000
/** The portions after which released entries are attempted. */
const PORTIONS_OF_WAKE = 20

interface HoldRuleDeps extends Store {
  /** Only the node that leads holds what waits and releases what was held. Each judges the entries that it attempts. */
  readonly leads: () => boolean
  readonly clock: Clock
  readonly log: Log
  /** Returns the owner of a workspace, for rules that hold all workspaces of an owner. */
  readonly ownerOf?: (workspaceId: string) => string
  /** Called when entries are due that were held before. */
  readonly onReleased: () => void
}

type Judged = Pick<QueueEntry, 'id' | 'email_id' | 'workspace_id' | 'domain' | 'recipient'>

const senderOfEmail = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select('from_email')
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export class HoldRuleRunner {
  /** Null if there are no rules. */
  private match: MatchHoldRule | null = null
  private firstEnd = Number.POSITIVE_INFINITY
  private needsWork = false
  private working: Promise<void> | null = null
  private isStopping = false
  private hasFailed = false
  private readonly inTurn = createSerialRunner()
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly deps: HoldRuleDeps) {}

  /** Starts to judge every entry. */
  async start(): Promise<void> {
    this.timer = setInterval(() => void this.check(), CHECK_INTERVAL).unref()
    await this.reload()
  }

  /** Reads the rules. What cannot be read now is read at the next check. */
  private async check(): Promise<void> {
    if (!this.needsWork && this.deps.clock() < this.firstEnd) return
    try {
      await this.reload()
    } catch (error) {
      this.noteFailure(error)
    }
  }

  /** Call this after a change of the rules. They are in effect when it resolves; waiting entries follow in steps. */
  reload(): Promise<void> {
    // One after the other, so that older rules never replace newer ones.
    return this.inTurn(() => this.readRules()).catch((error: unknown) => {
      // The next check reads them again.
      this.needsWork = true
      throw error
    })
  }

  private async readRules(): Promise<void> {
    const now = this.deps.clock()
    const rules = await allHoldRules(this.deps.read, {})
    const lasting = rules.filter(({ ending, until }) => ending === 0 && (until === null || until > now))
    this.match = lasting.length === 0 ? null : compileHoldRules(lasting, this.deps.ownerOf)
    this.firstEnd = Math.min(...lasting.map(({ until }) => until ?? Number.POSITIVE_INFINITY))
    this.needsWork = rules.length > lasting.length || lasting.some(({ cursor }) => cursor !== null)
    const mayWork = this.timer !== null && !this.isStopping && this.deps.leads()
    if (this.needsWork && this.working === null && mayWork) this.working = this.work()
  }

  /** Returns the rule that holds the entry of an email from this sender, or null. */
  find(entry: Judged, sender: string | null): HoldRule | null {
    return this.match?.(entry, sender) ?? null
  }

  /** Does the same for an entry whose email is stored. */
  async findStored(entry: Judged): Promise<HoldRule | null> {
    if (this.match === null) return null
    const [email] = await senderOfEmail(this.deps.read, { id: entry.email_id, workspaceId: entry.workspace_id })
    return this.find(entry, email?.from_email ?? null)
  }

  /** Holds an entry for which `find` has found a rule, unless the entry has changed or the rule has ended. */
  async hold(entry: Judged, rule: HoldRule): Promise<void> {
    await this.deps.commit([holdByRule(entry, rule)])
  }

  /** Ends the running walk after its portion. */
  async stop(): Promise<void> {
    this.isStopping = true
    if (this.timer !== null) clearInterval(this.timer)
    await this.working
  }

  private get mayGoOn(): boolean {
    return !this.isStopping && this.deps.leads()
  }

  private async work(): Promise<void> {
    try {
      while (this.needsWork && this.mayGoOn) {
        this.needsWork = false
        for (const rule of await allHoldRules(this.deps.read, {})) await this.applyRule(rule)
      }
      this.hasFailed = false
    } catch (error) {
      this.needsWork = true
      this.noteFailure(error)
    } finally {
      this.working = null
    }
  }

  private noteFailure(error: unknown): void {
    if (!this.hasFailed) this.deps.log.error({ err: error }, 'a hold rule cannot be applied now')
    this.hasFailed = true
  }

  private async applyRule(rule: HoldRule): Promise<void> {
    const now = this.deps.clock()
    if (rule.ending === 1) return this.release(rule)
    if (rule.until !== null && rule.until <= now) {
      await tryCommit(this.deps.commit(endHoldRule(rule, daemonActor, now)))
      return this.release(rule)
    }
    if (rule.cursor !== null) await this.holdWaiting(rule, rule.cursor)
  }

  private async holdWaiting(rule: HoldRule, from: string): Promise<void> {
    for (let after: string | null = from; after !== null && this.mayGoOn; ) {
      const { writes, next }: Awaited<ReturnType<typeof holdNextEntries>> = await holdNextEntries(
        this.deps.read,
        rule,
        after,
      )
      if (!(await tryCommit(this.deps.commit(writes)))) return
      after = next
      await waitForStep()
    }
  }

  private async release(rule: HoldRule): Promise<void> {
    const { read, commit, onReleased } = this.deps
    for (let portion = 1; await holdsEntries(read, rule); portion += 1) {
      if (!this.mayGoOn) return
      const wakes = portion % PORTIONS_OF_WAKE === 0
      await commit([releaseNextEntries(rule), ...(wakes ? [countChange('due_mail')] : [])])
      if (wakes) onReleased()
      await waitForStep()
    }
    await commit([removeHoldRule({ id: rule.id }), countChange('due_mail')])
    onReleased()
  }
}
