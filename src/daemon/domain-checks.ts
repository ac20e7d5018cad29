/**
 * Looks at sending domains in DNS of the daemon's own accord: every minute at those whose time
 * has come, and at once when a command may have asked for something.
 *
 * When a domain is looked at next is in its row, so a daemon that was stopped catches up.
 */
import { createTask } from 'node-cron'
import type { Config } from '../config/complete.js'
import type { RotationDeps } from '../domains/dkim/rotate-keys.js'
import { buildRotationDeps, openDomainResolver } from '../domains/verification/domain-resolver.js'
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
  readonly onDomainChanged: RecheckDeps['onChanged']
}

export interface DomainChecks {
  /** For those who ask at a door. */
  readonly rotationDeps: RotationDeps
  /** The first look comes once the daemon serves. */
  readonly start: () => void
  readonly wake: () => void
  readonly stop: () => Promise<void>
}

export function wireDomainChecks({
  config,
  clock,
  log,
  edges,
  database,
  onDomainChanged: onChanged,
}: Parts): DomainChecks {
  const abortController = new AbortController()
  const resolver = edges.resolver ?? openDomainResolver(config, clock, abortController.signal)
  const rotationDeps = buildRotationDeps(config, { ...database, resolver, random: edges.random })
  let running: Promise<void> | null = null
  let again = false

  async function recheckUntilDone(): Promise<void> {
    do {
      again = false
      try {
        await recheckDomains({ ...rotationDeps, clock, log, onChanged }, abortController.signal)
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
  const task = createTask('* * * * *', wake)
  return {
    rotationDeps,
    start: () => {
      void task.start()
      wake()
    },
    wake,
    stop: async () => {
      abortController.abort()
      await task.destroy()
      await running
    },
  }
}
