/**
 * One attempt of an entry whose turn it is: where to, a place at the host, the message, the
 * lease, the call.
 *
 * What cannot be called now, because its hosts are remembered as unreachable, is postponed: it
 * waits in the database until that is over, and no attempt is counted. It keeps its place only
 * while that is written. There are moments at which an entry is attempted whatever is remembered
 * (`mustTryAt`).
 */
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Lanes } from '../queue/lanes.js'
import type { Leases } from '../queue/leases.js'
import type { Postponements } from '../queue/postponements.js'
import { mustTryAt } from '../queue/retry-schedule.js'
import type { RunnerDeps } from '../queue/runner-deps.js'
import type { MadeAttempt } from './made-attempt.js'
import type { OutboundMessage } from './outbound-message.js'

export interface AttemptTurn {
  readonly entry: QueueEntry
  readonly at: number
  /** The last byte of the message is on its way. */
  handedOver: boolean
}

export interface MakeAttemptDeps
  extends Pick<RunnerDeps, 'findDestination' | 'reach' | 'ready' | 'attempt' | 'retryPolicy'> {
  readonly lanes: Pick<Lanes, 'bind'>
  readonly leases: Pick<Leases, 'take'>
  readonly postponements: Pick<Postponements, 'postpone'>
  /** Strikes when the process ends. */
  readonly abandoned: AbortSignal
}

/**
 * `changed`: held, removed or leased by another process, or postponed. `waits`: put back until
 * its host has a place.
 */
export async function makeAttempt(
  turn: AttemptTurn,
  deps: MakeAttemptDeps,
): Promise<MadeAttempt | 'changed' | 'waits'> {
  const { entry, at } = turn
  const found = await deps.findDestination(entry.domain)
  const hosts = found.kind === 'hosts' ? found.hosts : []
  const age = { enqueuedAt: entry.enqueued_at, noticed: entry.noticed === 1 }
  const insists = at >= mustTryAt(age, deps.retryPolicy)
  const reach = deps.reach(hosts)
  if (reach.kind === 'outage' && !insists) {
    await deps.postponements.postpone(entry, reach)
    return 'changed'
  }
  const [host] = hosts
  const isProbing = reach.kind === 'probe' ? () => deps.reach(hosts).kind === 'probe' : null
  if (host !== undefined && !deps.lanes.bind(entry, host.mx, isProbing)) return 'waits'
  const ready = await deps.ready(entry, at)
  // After the end nobody would give it back: DNS may be slower than that.
  deps.abandoned.throwIfAborted()
  const lease = await deps.leases.take(entry, at, ready.writes)
  if (lease === 'changed') return 'changed'
  if (lease === 'written') ready.shelved.signatureKept = true
  const message: OutboundMessage = {
    ...ready.message,
    handedOver: () => {
      turn.handedOver = true
    },
  }
  const call = { party: entry.workspace_id, insists }
  const result = await deps.attempt(message, ready.destination ?? found, call, deps.abandoned)
  if ('until' in result) {
    await deps.postponements.postpone(entry, result)
    return 'changed'
  }
  const unwritten = lease === 'written' ? [] : ready.writes
  return { entry, ready, unwritten, result, number: entry.attempts + 1, at: result.begunAt ?? at }
}
