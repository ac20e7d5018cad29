/**
 * Rechecks sending domains in DNS: each minute those that are due, and at once when a command may have
 * changed something.
 *
 * The time of the next check is in the domain's row, so a daemon that was stopped catches up.
 */
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { type RecheckDeps, recheckDomains } from './recheck-domains.js'
import type { RotationDeps } from './rotate-keys.js'

const CHECK_INTERVAL = 60_000

interface RecheckRunnerDeps {
  readonly rotationDeps: RotationDeps
  readonly clock: Clock
  readonly log: Log
  readonly onDomainChanged: RecheckDeps['onChanged']
}

export interface RecheckRunner {
  /** Checks what is due, and from then on each minute. */
  readonly start: () => void
  /** Checks what is due now. */
  readonly wake: () => void
  readonly stop: () => Promise<void>
}

export function createRecheckRunner({ rotationDeps, clock, log, onDomainChanged }: RecheckRunnerDeps): RecheckRunner {
  const abortController = new AbortController()
  let running: Promise<void> | null = null
  let again = false

  async function recheckUntilDone(): Promise<void> {
    do {
      again = false
      try {
        const deps = { ...rotationDeps, clock, log, onChanged: onDomainChanged }
        await recheckDomains(deps, abortController.signal)
      } catch (err) {
        log.error({ err }, 'sending domains cannot be checked')
      }
    } while (again && !abortController.signal.aborted)
    running = null
  }

  const wake = (): void => {
    again = true
    if (!abortController.signal.aborted) running ??= recheckUntilDone()
  }
  let timer: NodeJS.Timeout | null = null
  return {
    start: () => {
      // The monotonic clock: a step of the wall clock neither misses a check nor puts one off.
      timer ??= setInterval(wake, CHECK_INTERVAL).unref()
      wake()
    },
    wake,
    stop: async () => {
      abortController.abort()
      if (timer !== null) clearInterval(timer)
      await running
    },
  }
}
