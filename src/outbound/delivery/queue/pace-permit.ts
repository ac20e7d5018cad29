/** Waits for the permit of a pace while it holds a slot of the host. */
import { setMaxListeners } from 'node:events'
import type { PaceControl } from '../shaping/pace-control.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import type { ReleaseSlot } from './host-concurrency.js'

/**
 * Waits for a slot of the host, and for a permit of its pace. Resolves to an outage if the provider asks for a pause.
 * Rejects with the signal's reason if the signal aborts first.
 */
export type AcquireSlot = (host: string, signal: AbortSignal) => Promise<ReleaseSlot | Outage>

/**
 * Resolves to a function that returns permit and slot, or to an outage if the provider asks for a pause; the slot is
 * returned then. Rejects with the signal's reason if the signal aborts first.
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
  // One signal stops hundreds of waiters, so many listeners are no leak.
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
