/**
 * Looks at sending domains in DNS of the daemon's own accord: every minute at those whose time
 * has come, and at once when a command may have asked for something.
 *
 * When a domain is looked at next is in its row, so a daemon that was stopped catches up.
 */
import { createTask } from 'node-cron'
import type { Config } from '../config/complete.js'
import type { RotationDeps } from '../domains/dkim/rotate-keys.js'
import { checkingIn, openAsk } from '../domains/verification/asking.js'
import { type RecheckDeps, recheckDomains } from '../domains/verification/recheck-domains.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import type { Edges } from './edges.js'

interface Parts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly changed: RecheckDeps['changed']
}

export interface DomainChecks {
  /** For those who ask at a door. */
  readonly checking: RotationDeps
  /** The first look comes once the daemon serves. */
  readonly start: () => void
  readonly wake: () => void
  readonly stop: () => Promise<void>
}

export function wireDomainChecks({ config, clock, log, edges, database, changed }: Parts): DomainChecks {
  const ended = new AbortController()
  const ask = edges.resolver ?? openAsk(config, clock, ended.signal)
  const checking = checkingIn(config, { ...database, ask, dice: edges.dice })
  let running: Promise<void> | null = null
  let again = false

  async function rounds(): Promise<void> {
    do {
      again = false
      try {
        await recheckDomains({ ...checking, clock, log, changed }, ended.signal)
      } catch (err) {
        log.error({ err }, 'sending domains cannot be checked')
      }
    } while (again && !ended.signal.aborted)
    running = null
  }

  const wake = (): void => {
    again = true
    if (!ended.signal.aborted) running ??= rounds()
  }
  const task = createTask('* * * * *', wake)
  return {
    checking,
    start: () => {
      void task.start()
      wake()
    },
    wake,
    stop: async () => {
      ended.abort()
      await task.destroy()
      await running
    },
  }
}
