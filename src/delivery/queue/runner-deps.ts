/** What the queue's runner is given: the database, and each step of a turn as a function. */
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Clock } from '../../platform/clock.js'
import type { Log } from '../../platform/log.js'
import type { Store } from '../../storage/database.js'
import type { AttemptResult } from '../attempt/attempt-result.js'
import type { FinishedAttempt, SettleOptions } from '../attempt/finished-attempt.js'
import type { MessageCache } from '../attempt/message-cache.js'
import type { OutboundMessage } from '../attempt/outbound-message.js'
import type { ReadyMessage } from '../attempt/ready-message.js'
import type { Outage, Reachability } from '../attempt/unreachable-hosts.js'
import type { Destination, FindDestination, Host } from '../hosts/destination.js'
import type { RetryPolicy } from './retry-schedule.js'

export interface RunnerDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  readonly messageCache: MessageCache
  /** Rejects when the message is gone. */
  readonly prepareMessage: (entry: QueueEntry, now: number) => Promise<ReadyMessage>
  /** Enough of it to tell of a fault; null: the email is gone. */
  readonly buildMinimalMessage: (entry: QueueEntry) => ReadyMessage | null
  readonly findDestination: FindDestination
  /** What is remembered of the hosts of a destination. */
  readonly checkReachability: (hosts: readonly Host[]) => Reachability
  /**
   * `insists`: hosts that are remembered as unreachable are called too. An outage: there was no
   * attempt. Rejects when the signal strikes, and only then.
   */
  readonly attempt: (
    message: OutboundMessage,
    to: Destination,
    call: { readonly workspaceId: string; readonly ignoreOutages: boolean },
    signal: AbortSignal,
  ) => Promise<AttemptResult | Outage>
  /** Writes down what came of an attempt; resolves once it is on disk. */
  readonly settle: (made: FinishedAttempt, patience: SettleOptions) => Promise<void>
  readonly retryPolicy: RetryPolicy
  readonly maxConnections: number
  readonly maxConnectionsPerHost: number
}
