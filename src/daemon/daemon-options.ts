/** What the daemon is made of from outside, and how what was started is ended again. */
import type { Config } from '../config/complete.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Edges } from './edges.js'

/** Milliseconds that clients get to finish, and then attempts: together less than systemd's patience. */
export const defaultStopTimeouts = { listeners: 5_000, delivery: 20_000 }

export interface DaemonOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  /** For a test that wants another world. */
  readonly edges?: Partial<Edges>
  readonly stopTimeouts?: typeof defaultStopTimeouts
}

/** How to end what was started, in the order of the starts. */
export type StopSteps = (() => Promise<void> | void)[]

/** In the opposite order. What cannot be ended in good order must not keep the rest from being ended. */
export async function stopAll(steps: StopSteps, log: Log): Promise<void> {
  for (const end of steps.splice(0).reverse()) {
    try {
      await end()
    } catch (error) {
      log.error({ err: error }, 'stopping went wrong')
    }
  }
}
