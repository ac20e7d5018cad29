/**
 * Repairs the effects of a clock that was set back. It makes due what would wait for as long as the clock was ahead, in
 * the queue and among the deliveries of webhooks, and times the housekeeping again. The daemon's own clock shows a step
 * during its work, the newest event shows one before its start.
 */
import type { ReadSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import { ClockSteps } from '../../base/platform/clock-steps.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import type { NodeState } from '../../base/storage/db/node-state.js'
import { newestEventTime } from '../../records/events/event-times.js'
import { makeFutureEntriesDue } from '../../records/messages/queue/future-entries.js'
import { makeFutureDeliveriesDue } from '../../workspaces/webhooks/delivery-records.js'

const CHECK_INTERVAL = 1_000
/** Milliseconds for which a host is not called that could not be reached. */
const MAX_HOST_WAIT = 300_000
/** Waits are spread over a tenth of their length. */
const SPREAD = 1.2

interface SetBackDeps extends Store {
  readonly node: Pick<NodeState, 'name'>
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly delivery: { readonly runner: { readonly wake: () => void } }
  readonly webhooks: { readonly reload: () => void }
  readonly housekeeping: { readonly reschedule: () => void }
}

export async function watchSetBack(deps: SetBackDeps): Promise<{ readonly stop: () => Promise<void> }> {
  const { read, clock, log, housekeeping } = deps
  const steps = new ClockSteps((await newestEventTime(read)) ?? 0)
  let isOpen = false
  let hasFailed = false
  let working: Promise<void> = Promise.resolve()
  const repair = async (): Promise<void> => {
    try {
      await makeDue(deps)
      isOpen = false
      hasFailed = false
    } catch (error) {
      if (!hasFailed) log.error({ err: error }, 'waiting mail cannot be adjusted to the clock now')
      hasFailed = true
    }
  }
  const check = (): void => {
    const step = steps.takeSetBack(clock())
    if (step > 0) {
      log.warn({ seconds: Math.round(step / 1_000) }, 'the clock was set back')
      housekeeping.reschedule()
      isOpen = true
    }
    if (isOpen) working = working.then(() => (isOpen ? repair() : undefined))
  }
  check()
  const timer = setInterval(check, CHECK_INTERVAL).unref()
  return {
    stop: async () => {
      clearInterval(timer)
      await working
    },
  }
}

async function makeDue({ settings, clock, node, ...work }: SetBackDeps): Promise<void> {
  const { outbound, webhooks } = settings()
  const now = clock()
  await makeFutureEntriesDue(work, { node: node.name, now, latest: now + maxWaitOf(outbound.retry_schedule) })
  await work.commit([
    makeFutureDeliveriesDue({ node: node.name, now, latest: now + maxWaitOf(webhooks.retry_schedule) }),
  ])
  work.delivery.runner.wake()
  work.webhooks.reload()
}

function maxWaitOf(schedule: readonly number[]): number {
  return Math.max(MAX_HOST_WAIT, ...schedule.map((wait) => wait * SPREAD))
}
