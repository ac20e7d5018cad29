/**
 * Wires the limits of workspaces: plans, request rates of all listeners, email quotas.
 *
 * The request counts of the day are saved once a minute and at the stop.
 */

import type { LimitsConfig } from '../../base/config/complete.js'
import type { ReadSettings } from '../../base/config/live-config.js'
import type { PlanLimits } from '../../base/config/plans.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { ReservableMemory } from '../../base/platform/memory/reservation.js'
import { createMemoryShares, type MemoryShares } from '../../base/platform/memory/shares.js'
import type { Database } from '../../base/storage/db/database.js'
import type { DiskGuard } from '../../base/storage/health/disk-guard.js'
import { InboundBytes } from '../../workspaces/accounts/limits/inbound-bytes.js'
import { findUnknownPlans, PlanCache } from '../../workspaces/accounts/limits/plans.js'
import { EmailCharger } from '../../workspaces/accounts/limits/quota.js'
import { createRateLimit, type RateLimit } from '../../workspaces/accounts/limits/rate-limit.js'
import { DailyRequests } from '../../workspaces/accounts/limits/rate-limit-days.js'
import type { OperatorWorkspaceCache } from '../../workspaces/accounts/workspace/operator-workspace.js'
import type { WorkspaceOwners } from '../../workspaces/accounts/workspace/workspace-owners.js'

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

export interface Limits {
  readonly plans: PlanCache
  /** The names are ids of workspaces; those of one owner count together. */
  readonly requests: RateLimit
  /** By client address (`addressKeyOf`). */
  readonly clients: RateLimit
  /** Counts requests that need no key by design, by client address. */
  readonly open: RateLimit
  readonly charger: EmailCharger
  readonly inboundBytes: InboundBytes
  /** Shares of this budget by owner. Workspaces of one owner share one of them, and each address has a separate one. */
  readonly shareByOwner: (budget: ReservableMemory, share: number) => MemoryShares
  /** Call it when plans may have changed. */
  readonly onReload: () => void
  readonly stop: () => Promise<void>
}

interface WorkspaceLimitsDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly operatorWorkspace: OperatorWorkspaceCache
  readonly disk: Pick<DiskGuard, 'room'>
  readonly workspaceOwners: WorkspaceOwners
}

export function openWorkspaceLimits(deps: WorkspaceLimitsDeps): Limits {
  const { log, database } = deps
  const { read } = database
  const limits = (): LimitsConfig => deps.settings().limits
  const plans = new PlanCache(read, limits)
  const days = new DailyRequests(database)
  const saver = saveRegularly(days, log)
  const warnOfUnknownPlans = (): void => {
    for (const { id, plan } of findUnknownPlans(read, limits())) {
      log.warn({ workspace: id, plan, instead: limits().default_plan }, 'a plan is not configured any more')
    }
  }
  warnOfUnknownPlans()
  return {
    plans,
    requests: createRateLimit({ limitsOf: (id) => plans.find(id).limits, meterOf: deps.workspaceOwners.ownerOf, days }),
    clients: createRateLimit({ limitsOf: () => unauthenticatedLimits }),
    open: createRateLimit({ limitsOf: () => openLimits }),
    charger: new EmailCharger(read, plans, () => limits().domain_emails_per_day),
    onReload: () => {
      plans.drop()
      warnOfUnknownPlans()
    },
    shareByOwner: (budget, share) => shareByOwner(createMemoryShares(budget, share), deps.workspaceOwners),
    inboundBytes: new InboundBytes({ ...deps, read, plans, settings: limits }),
    stop: saver.stop,
  }
}

function saveRegularly(days: DailyRequests, log: Log): Pick<Limits, 'stop'> {
  const save = (): Promise<void> =>
    days.save().catch((error: unknown) => log.error({ err: error }, 'the counts of requests cannot be saved'))
  const timer = setInterval(() => void save(), SAVE_INTERVAL).unref()
  return {
    stop: () => {
      clearInterval(timer)
      return save()
    },
  }
}

/** Requests without a key, and those of people in a browser, hold a share under another name than that of a workspace. */
function shareByOwner({ forOwner }: MemoryShares, owners: WorkspaceOwners): MemoryShares {
  return { forOwner: (name) => forOwner(name.startsWith('ws_') ? owners.ownerOf(name) : name) }
}
