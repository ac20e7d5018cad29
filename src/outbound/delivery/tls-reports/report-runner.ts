/**
 * Works on reports once a minute: stores what was counted, plans the reports of days that have ended, and takes the due
 * ones a step further.
 *
 * A report is due up to four hours after midnight, at a time that differs by domain and installation, so that not all
 * senders write at once (RFC 8460 section 4.1).
 */
import { createHash } from 'node:crypto'
import type { Log } from '../../../base/platform/log.js'
import { DAY } from '../../../base/platform/time-units.js'
import type { NodeState } from '../../../base/storage/db/node-state.js'
import { StorageFault } from '../../../base/storage/db/write.js'
import { dateOf, startOfDay } from './report-day.js'
import {
  type OpenReport,
  oldReports,
  planReport,
  readDueReports,
  readLastPlanned,
  removeReport,
  settleReport,
  storeLastPlanned,
} from './report-records.js'
import type { TlsResultCounter } from './result-counter.js'
import { domainsOfDay, firstDayBetween, removePolicies, removeResults } from './result-records.js'
import { type SendReportDeps, takeReportStep } from './send-report.js'

/** Milliseconds between two looks at the clock, and between two runs. */
const LOOK_INTERVAL = 1_000
const RUN_INTERVAL = 60_000
/** Milliseconds in which every node has stored what it has counted. */
const FLUSH_TIME = 5 * RUN_INTERVAL
/** Milliseconds after midnight within which reports begin to be sent. */
const SPREAD = 4 * 3_600_000
/** Milliseconds for which settled reports are listed. */
const KEEP = 30 * DAY
/** The most domains that one commit plans, and the most reports that are under way at a time. */
const [PLAN_PORTION, AT_A_TIME] = [200, 5]
/** The most old reports that one run removes. */
const REMOVE_PORTION = 50

interface RunnerDeps extends Omit<SendReportDeps, 'log'> {
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly counter: Pick<TlsResultCounter, 'flush'>
  readonly node: Pick<NodeState, 'name' | 'leads'>
  /** Returns `outbound.tls_reports`. */
  readonly isEnabled: () => boolean
}

export class TlsReportRunner {
  private timer: NodeJS.Timeout | null = null
  private running: Promise<void> | null = null
  private ranAt = 0
  private isStopping = false
  private isFailing = false

  constructor(private readonly deps: RunnerDeps) {}

  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_INTERVAL).unref()
  }

  /** Resolves after the running steps. */
  async stop(): Promise<void> {
    this.isStopping = true
    if (this.timer !== null) clearInterval(this.timer)
    await this.running
  }

  private look(): void {
    const now = this.deps.clock()
    // A run that lies in the future does not count, because the clock was set back.
    if (this.running !== null || Math.abs(now - this.ranAt) < RUN_INTERVAL) return
    this.ranAt = now
    this.running = this.run().finally(() => {
      this.running = null
    })
  }

  private async run(): Promise<void> {
    try {
      const { counter, node, isEnabled } = this.deps
      await counter.flush()
      if (!node.leads()) return
      if (isEnabled()) await this.plan()
      await this.sendDue()
      await this.removeOld()
      this.isFailing = false
    } catch (err) {
      // The next run tries again. An outage is logged once.
      if (!this.isFailing) this.deps.log.error({ err }, 'TLS reports cannot be worked on now')
      this.isFailing = true
    }
  }

  /**
   * Plans the days that have ended. Their sessions are stored, because the counter was flushed after their end; those of
   * other nodes are stored some minutes later.
   */
  private async plan(): Promise<void> {
    const { read, clock, node } = this.deps
    const today = dateOf(clock() - (node.name === '' ? 0 : FLUSH_TIME))
    for (;;) {
      const [next] = await firstDayBetween(read, { after: await readLastPlanned(read), before: today })
      if (next === undefined || this.isStopping) return
      await this.planDay(next.day)
    }
  }

  private async planDay(day: string): Promise<void> {
    const { read, commit, reporter } = this.deps
    let after = ''
    for (;;) {
      const page = await domainsOfDay(read, { day, after, limit: PLAN_PORTION })
      const last = page.at(-1)
      const plans = page.map(({ domain }) => planReport(day, domain, firstTryOf(day, domain, reporter.submitter)))
      if (last === undefined) return commit([storeLastPlanned(day)])
      await commit(plans)
      after = last.domain
    }
  }

  /** Sends for a limited time: receivers may be slow, and new counts have to be stored. */
  private async sendDue(): Promise<void> {
    const { read, clock } = this.deps
    const begunAt = clock()
    while (Math.abs(clock() - begunAt) < RUN_INTERVAL) {
      const due = await readDueReports(read, clock(), AT_A_TIME)
      if (due.length === 0 || this.isStopping) return
      await Promise.all(due.map((report) => this.takeStep(report)))
    }
  }

  private async takeStep(report: OpenReport): Promise<void> {
    const { isEnabled, commit, clock, log } = this.deps
    if (!isEnabled()) return commit(settleReport(report, 'unwanted', 'outbound.tls_reports is off', clock()))
    try {
      await takeReportStep(this.deps, report)
    } catch (err) {
      // After a fault of the disk the next run tries again. Any other fault would repeat and delay the other reports.
      if (err instanceof StorageFault) throw err
      log.error({ err, domain: report.domain, day: report.day }, 'a TLS report could not be made')
      await commit(settleReport(report, 'failed', 'a fault of this program: see the log', clock()))
    }
  }

  /** Removes old settled reports, and the sessions of days that were never planned, such as those of a wrong clock. */
  private async removeOld(): Promise<void> {
    const { read, commit, clock } = this.deps
    const old = await oldReports(read, { before: dateOf(clock() - KEEP), limit: REMOVE_PORTION })
    const [stale] = await firstDayBetween(read, { after: '', before: dateOf(clock() - 3 * DAY) })
    const domains = stale === undefined ? [] : await domainsOfDay(read, { day: stale.day, after: '', limit: 1 })
    const left = domains.map(({ domain }) => ({ day: stale?.day ?? '', domain }))
    const writes = [...old.map(removeReport), ...left.flatMap((one) => [removeResults(one), removePolicies(one)])]
    if (writes.length > 0) await commit(writes)
  }
}

/** Returns when a report is due first. It is the same time after a restart. */
function firstTryOf(day: string, domain: string, submitter: string): number {
  const share = createHash('sha256').update(`${day} ${domain} ${submitter}`).digest().readUInt32BE(0) / 2 ** 32
  return startOfDay(day) + DAY + Math.floor(share * SPREAD)
}
