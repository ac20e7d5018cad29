/**
 * The limits of workspaces: plans, request rates of all listeners, email quotas, inbound bytes, shares of memory.
 *
 * The request counts of the day are saved once a minute and at the stop. Several nodes divide the rates of requests among
 * them; quotas of emails are exact over all nodes.
 */
import type { LimitsConfig } from '../../../base/config/complete.js'
import type { PlanLimits } from '../../../base/config/plans.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import type { ReservableMemory } from '../../../base/platform/memory/reservation.js'
import { MemoryShares } from '../../../base/platform/memory/shares.js'
import type { Database } from '../../../base/storage/db/database.js'
import type { DiskGuard } from '../../../base/storage/health/disk-guard.js'
import type { OperatorWorkspaceCache } from '../workspace/operator-workspace.js'
import type { WorkspaceDirectory } from '../workspace/workspace-directory.js'
import { InboundBytes } from './inbound-bytes.js'
import { findUnknownPlans, shareOfNode, WorkspacePlans } from './plans.js'
import { EmailCharger } from './quota.js'
import { RateLimit } from './rate-limit.js'
import { DailyRequests } from './rate-limit-days.js'

/** Milliseconds. */
const SAVE_INTERVAL = 60_000

/**
 * Requests of one client address without a valid key. The limit bounds the cost of such clients; guessing a key of
 * 256 random bits is infeasible anyway.
 */
const unauthenticatedLimits: PlanLimits = { requests_per_second: 100, requests_per_minute: 300 }

/**
 * The limit of one client address for requests that are open to all: pixels and links of mail, reports of services,
 * probes, files of the dashboard. Proxies load them for thousands of readers, so it is the limit of opens and clicks
 * that are recorded from one address (`tracking/recorder`).
 */
const openLimits: PlanLimits = { requests_per_second: 2_500, burst: 5_000 }

interface WorkspaceLimitsDeps {
  readonly settings: () => { readonly limits: LimitsConfig }
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly operatorWorkspace: OperatorWorkspaceCache
  readonly disk: Pick<DiskGuard, 'room'>
  readonly workspaces: WorkspaceDirectory
}

export class WorkspaceLimits {
  readonly plans: WorkspacePlans
  /** The names are ids of workspaces; those of one owner count together. */
  readonly requests: RateLimit
  /** By client address (`addressKeyOf`). */
  readonly clients = new RateLimit({ limitsOf: () => unauthenticatedLimits })
  /** Counts requests that need no key by design, by client address. */
  readonly open = new RateLimit({ limitsOf: () => openLimits })
  readonly charger: EmailCharger
  readonly inboundBytes: InboundBytes
  private readonly timer: NodeJS.Timeout

  private constructor(
    private readonly deps: WorkspaceLimitsDeps,
    private readonly days: DailyRequests,
  ) {
    const { database, workspaces, settings } = deps
    const { read } = database
    const limits = (): LimitsConfig => settings().limits
    const plans = new WorkspacePlans(workspaces, limits)
    this.plans = plans
    const limitsOf = (id: string): PlanLimits => shareOfNode(plans.find(id).limits, database.node.countLiving())
    this.requests = new RateLimit({ limitsOf, meterOf: workspaces.ownerOf, days })
    this.charger = new EmailCharger(read, plans, () => limits().domain_emails_per_day)
    this.inboundBytes = new InboundBytes({ ...deps, read, plans, settings: limits })
    this.timer = setInterval(() => void this.save(), SAVE_INTERVAL).unref()
  }

  static async open(deps: WorkspaceLimitsDeps): Promise<WorkspaceLimits> {
    const { database, clock } = deps
    const days = await DailyRequests.open(database, clock(), database.node.name !== '')
    await warnOfUnknownPlans(deps)
    return new WorkspaceLimits(deps, days)
  }

  /**
   * Shares of this budget by owner. Workspaces of one owner share one of them. Requests without a key, and those of
   * people in a browser, hold a share under another name than that of a workspace.
   */
  shareByOwner(budget: ReservableMemory, share: number): MemoryShares {
    const { ownerOf } = this.deps.workspaces
    return new MemoryShares(budget, share, { ownerOf: (name) => (name.startsWith('ws_') ? ownerOf(name) : name) })
  }

  /** Call it when plans may have changed. */
  onReload(): Promise<void> {
    return warnOfUnknownPlans(this.deps)
  }

  stop(): Promise<void> {
    clearInterval(this.timer)
    return this.save()
  }

  private save(): Promise<void> {
    const { clock, log } = this.deps
    return this.days
      .save(clock())
      .catch((error: unknown) => log.error({ err: error }, 'the counts of requests cannot be saved'))
  }
}

async function warnOfUnknownPlans({ settings, database, log }: WorkspaceLimitsDeps): Promise<void> {
  const { limits } = settings()
  for (const { id, plan } of await findUnknownPlans(database.read, limits)) {
    log.warn({ workspace: id, plan, instead: limits.default_plan }, 'a plan is no longer configured')
  }
}
