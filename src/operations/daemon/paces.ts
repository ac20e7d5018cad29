/** Wires the paces of providers: a steady clock, metrics, and what was learned before the last stop. */

import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { Paces } from '../../outbound/delivery/shaping/paces.js'
import type { Observers } from '../monitoring/monitoring.js'

interface PacesDeps {
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly observers: Observers | null
}

export function openPaces({ database: { read, commit }, clock, log, observers }: PacesDeps): Paces {
  const timer = {
    now: () => performance.now(),
    after: (milliseconds: number, run: () => void) => {
      const timeout = setTimeout(run, milliseconds).unref()
      return () => clearTimeout(timeout)
    },
  }
  const paces = new Paces({ read, commit, clock, log, timer, onRefused: observers?.onPaceRefused ?? (() => undefined) })
  paces.load()
  observers?.watchPaces(() => paces.list())
  return paces
}
