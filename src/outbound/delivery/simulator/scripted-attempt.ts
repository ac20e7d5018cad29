/**
 * Plays an attempt to deliver to an address of the simulator: no host is called, and the script decides the outcome.
 *
 * It takes a slot as an attempt at a host does, so slow addresses hold no more attempts than a slow host would.
 */
import { domainOf } from '../../../base/mail/address.js'
import { formatReply } from '../../../base/mail/reply.js'
import { scriptNameOf } from '../../../base/mail/simulator-address.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { AcquireSlot } from '../queue/pace-permit.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import type { AttemptResult } from '../smtp/attempt-result.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import { storeComplaint } from './complaint-report.js'
import { playScript } from './script.js'

export interface SimulatorDeps {
  readonly hostname: string
  readonly zone: string
  readonly clock: Clock
  /** Rejects with the signal's reason if the signal aborts first. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

interface ScriptedCall {
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly acquireSlot: AcquireSlot
  readonly signal: AbortSignal
}

/** Rejects only when the signal aborts. */
export async function attemptScripted(
  message: OutboundMessage,
  { attempt, acquireSlot, signal }: ScriptedCall,
  deps: SimulatorDeps,
): Promise<AttemptResult | Outage> {
  const domain = domainOf(message.recipient)
  const { wait, outcome, reply, complains } = playScript(scriptNameOf(message.recipient), attempt)
  const releaseSlot = await acquireSlot(domain, signal)
  if (typeof releaseSlot !== 'function') return releaseSlot
  try {
    const begunAt = deps.clock()
    if (wait > 0) await deps.sleep(wait, signal)
    const writes = complains && message.returnPath !== '' ? storeComplaint(message, deps, deps.clock()) : []
    const transcript = `(the simulator: nothing was sent)\n${formatReply(reply)}`
    return { begunAt, outcome, peer: { mx: domain, address: null, tls: null }, transcript, writes }
  } finally {
    releaseSlot()
  }
}
