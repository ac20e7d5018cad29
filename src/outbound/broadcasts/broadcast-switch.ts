/** Lets the circuit breaker pause a broadcast with a note, and resume it. */

import type { Read } from '../../base/storage/db/prepared.js'
import type { BroadcastSwitch } from '../breaker/hold-scope.js'
import { type BroadcastRef, broadcastSummaryById, pauseBroadcast, resumeBroadcast } from './broadcast-records.js'

export class StoredBroadcasts implements BroadcastSwitch {
  readonly pause = pauseBroadcast
  readonly resume = resumeBroadcast

  constructor(private readonly read: Read) {}

  async statusOf(ref: BroadcastRef): Promise<'sending' | 'paused' | 'ended'> {
    const status = (await broadcastSummaryById(this.read, ref))[0]?.status
    return status === 'sending' || status === 'paused' ? status : 'ended'
  }
}
