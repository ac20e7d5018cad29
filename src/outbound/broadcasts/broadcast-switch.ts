/** Lets the circuit breaker pause a broadcast with a note, and resume it. */

import type { Read } from '../../base/storage/db/prepared.js'
import type { BroadcastSwitch } from '../breaker/hold-scope.js'
import { broadcastSummaryById, pauseBroadcast, resumeBroadcast } from './broadcast-records.js'

export function createBroadcastSwitch(read: Read): BroadcastSwitch {
  return {
    statusOf: (ref) => {
      const status = broadcastSummaryById(read, ref)[0]?.status
      return status === 'sending' || status === 'paused' ? status : 'ended'
    },
    pause: pauseBroadcast,
    resume: resumeBroadcast,
  }
}
