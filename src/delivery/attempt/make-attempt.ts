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
import { forcedAttemptTimeOf } from '../queue/retry-schedule.js'
import type { RunnerDeps } from '../queue/runner-deps.js'
import type { FinishedAttempt } from './finished-attempt.js'
import type { OutboundMessage } from './outbound-message.js'

export interface AttemptTurn {
  readonly entry: QueueEntry
  readonly at: number
  /** The last byte of the message is on its way. */
  isHandedOver: boolean
}

export interface MakeAttemptDeps
  extends Pick<RunnerDeps, 'findDestination' | 'checkReachability' | 'prepareMessage' | 'attempt' | 'retryPolicy'> {
  readonly lanes: Pick<Lanes, 'bind'>
  readonly leases: Pick<Leases, 'take'>
  readonly postponements: Pick<Postponements, 'postpone'>
  /** Strikes when the process ends. */
  readonly abortSignal: AbortSignal
}

/**
 * `changed`: held, removed or leased by another process, or postponed. `waits`: put back until
 * its host has a place.
 */
export async function makeAttempt(
  turn: AttemptTurn,
  deps: MakeAttemptDeps,
): Promise<FinishedAttempt | 'changed' | 'waits'> {
  const { entry, at } = turn
  const destination = await deps.findDestination(entry.domain)
  const hosts = destination.kind === 'hosts' ? destination.hosts : []
  const age = { enqueuedAt: entry.enqueued_at, noticed: entry.noticed === 1 }
  const ignoreOutages = at >= forcedAttemptTimeOf(age, deps.retryPolicy)
  const reachability = deps.checkReachability(hosts)
  if (reachability.kind === 'outage' && !ignoreOutages) {
    await deps.postponements.postpone(entry, reachability)
    return 'changed'
  }
  const [host] = hosts
  const isProbing = reachability.kind === 'probe' ? () => deps.checkReachability(hosts).kind === 'probe' : null
  if (host !== undefined && !deps.lanes.bind(entry, host.mx, isProbing)) return 'waits'
  const readyMessage = await deps.prepareMessage(entry, at)
  // After the end nobody would give it back: DNS may be slower than that.
  deps.abortSignal.throwIfAborted()
  const lease = await deps.leases.take(entry, at, readyMessage.writes)
  if (lease === 'changed') return 'changed'
  if (lease === 'written') readyMessage.cachedMessage.isSignatureStored = true
  const message: OutboundMessage = {
    ...readyMessage.message,
    onHandedOver: () => {
      turn.isHandedOver = true
    },
  }
  const call = { workspaceId: entry.workspace_id, ignoreOutages }
  const result = await deps.attempt(message, readyMessage.destination ?? destination, call, deps.abortSignal)
  if ('until' in result) {
    await deps.postponements.postpone(entry, result)
    return 'changed'
  }
  const pendingWrites = lease === 'written' ? [] : readyMessage.writes
  return { entry, readyMessage, pendingWrites, result, number: entry.attempts + 1, at: result.begunAt ?? at }
}
