/** Waits for the permit of a pace, beside a slot of the host that is held meanwhile. */
import { setMaxListeners } from 'node:events'
import type { PaceControl } from '../shaping/pace-control.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import type { ReleaseSlot } from './host-concurrency.js'

/**
 * Waits for a slot of the host, and for a permit of its pace. An outage: the provider asks for a pause. Rejects with the
 * signal's reason when that strikes first.
 */
export type AcquireSlot = (host: string, signal: AbortSignal) => Promise<ReleaseSlot | Outage>

/**
 * Resolves with what returns permit and slot. An outage, which has returned the slot: the provider asks for a pause.
 * Rejects with the signal's reason when that strikes first.
 */
export async function acquirePermit(
  pace: PaceControl | undefined,
  releaseSlot: ReleaseSlot,
  signal: AbortSignal,
): Promise<ReleaseSlot | Outage> {
  if (pace === undefined) return releaseSlot
  const release = (): void => {
    pace.release()
    releaseSlot()
  }
  if (pace.take()) return release
  if (signal.aborted) {
    releaseSlot()
    throw signal.reason
  }
  // One signal stops hundreds of waiters: that many listeners are no leak.
  setMaxListeners(0, signal)
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      withdraw()
      releaseSlot()
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const withdraw = pace.request({
      grant: () => {
        signal.removeEventListener('abort', onAbort)
        resolve(release)
      },
      turnAway: (outage) => {
        signal.removeEventListener('abort', onAbort)
        releaseSlot()
        resolve(outage)
      },
    })
  })
}
