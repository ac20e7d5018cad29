/**
 * Takes one entry through its turn to the result of its attempt: destination, room at the host, message, lease, calls.
 *
 * If all its hosts are remembered as unreachable, the entry is postponed: it waits in the database until that is over,
 * and no attempt is counted. The same happens if their provider has asked for a pause. At certain moments the entry is
 * attempted nevertheless (`forcedAttemptTimeOf`). A provider that has asked for a pause is not called even then: the
 * reply that asked for the pause becomes the outcome.
 */

import type { Clock } from '../../../base/platform/clock.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { HoldRuleRunner } from '../../../records/messages/queue/hold-rule-runner.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import { type Destination, type Host, pathOf } from '../hosts/destination.js'
import type { Lanes } from '../queue/lanes.js'
import type { Leases } from '../queue/leases.js'
import type { AcquireSlot } from '../queue/pace-permit.js'
import type { Postponements } from '../queue/postponements.js'
import { forcedAttemptTimeOf, type RetryPolicy } from '../queue/retry-schedule.js'
import type { Paces } from '../shaping/paces.js'
import type { Outage, UnreachableHosts } from '../shaping/unreachable-hosts.js'
import type { AttemptResult } from '../smtp/attempt-result.js'
import { sizeOf } from '../smtp/envelope.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import { AttemptSources } from './attempt-sources.js'
import type { DestinationFinder } from './destination-finder.js'
import type { Leavers } from './leavers.js'
import type { MessagePreparer, ReadyMessage } from './message-preparer.js'
import type { MessageSender } from './message-sender.js'
import type { SourceAssigner, SourceAssignment } from './source-assigner.js'

export interface AttemptTurn {
  readonly entry: QueueEntry
  readonly at: number
  /** True when the last byte of the message was handed to the kernel. */
  isHandedOver: boolean
}

export interface FinishedAttempt {
  readonly entry: QueueEntry
  readonly readyMessage: ReadyMessage
  /** The writes of `readyMessage` that were not part of the commit of the lease. */
  readonly pendingWrites: readonly Write[]
  readonly result: AttemptResult
  readonly number: number
  readonly at: number
}

/** The parts that an attempt asks, in the order in which it asks them. */
export interface AttemptParts {
  readonly holdRules: Pick<HoldRuleRunner, 'findStored' | 'hold'>
  readonly destinations: Pick<DestinationFinder, 'find'>
  readonly sources: Pick<SourceAssigner, 'assign' | 'noteMissing'>
  /** Remembers the hosts that could not be reached. */
  readonly unreachable: Pick<UnreachableHosts, 'checkReachability'>
  readonly messages: Pick<MessagePreparer, 'prepare' | 'buildMinimal'>
  /** Knows the recipients who no longer want the message. */
  readonly leavers: Pick<Leavers, 'has' | 'remove'>
  readonly sender: Pick<MessageSender, 'send'>
  readonly retryPolicy: () => RetryPolicy
  readonly clock: Clock
}

export interface MakeAttemptDeps extends AttemptParts {
  readonly paces: Pick<Paces, 'findPause'>
  readonly lanes: Pick<Lanes, 'bind' | 'noteSize' | 'acquireSlot' | 'isStopped'>
  readonly leases: Pick<Leases, 'take'>
  readonly postponements: Pick<Postponements, 'postpone'>
  /** False while no attempt may begin on this node. */
  readonly mayBegin: () => boolean
  /** Aborts when the process ends. */
  readonly abortSignal: AbortSignal
}

/**
 * Resolves to `changed` if a hold rule matches, no attempt may begin now, the broadcast was stopped, the recipient no
 * longer wants the message, or the entry was held, removed, leased by another process, or postponed. Resolves to
 * `waits` if the entry was put back until its host has room.
 */
export async function makeAttempt(
  turn: AttemptTurn,
  deps: MakeAttemptDeps,
): Promise<FinishedAttempt | 'changed' | 'waits'> {
  const { entry } = turn
  if (await holdIfRuled(entry, deps)) return 'changed'
  const found = await deps.destinations.find(entry.domain)
  const sources = new AttemptSources(entry, found, deps.sources)
  try {
    await sources.assign()
    return await attemptFrom(sources, turn, deps)
  } finally {
    sources.release()
  }
}

async function attemptFrom(
  sources: AttemptSources,
  turn: AttemptTurn,
  deps: MakeAttemptDeps,
): Promise<FinishedAttempt | 'changed' | 'waits'> {
  const { entry, at } = turn
  const ignoreOutages = isForced(entry, at, deps.retryPolicy())
  const { destination } = sources
  const hosts = destination.kind === 'hosts' ? destination.hosts : []
  const reachability = deps.unreachable.checkReachability(hosts, deps.clock())
  const pause = deps.paces.findPause(hosts)
  const outage = sources.wait ?? sources.narrow(reachability.kind === 'outage' ? reachability : pause)
  if (outage !== null && !ignoreOutages) {
    await deps.postponements.postpone(entry, outage)
    return 'changed'
  }
  const [first] = hosts
  const host = destination.kind === 'scripted' ? destination.host : first && pathOf(first)
  const isProbing = reachability.kind === 'probe' ? () => isProbe(hosts, deps) : null
  if (host !== undefined && !deps.lanes.bind(entry, host, isProbing)) return 'waits'
  const readyMessage = await deps.messages.prepare(entry, at)
  deps.lanes.noteSize(entry, sizeOf(readyMessage.message))
  if (await deps.leavers.has(entry)) {
    await deps.leavers.remove(entry, at)
    return 'changed'
  }
  // A lease that is taken after the end of the process would not be released. From here to the lease nothing waits.
  deps.abortSignal.throwIfAborted()
  if (!deps.mayBegin() || deps.lanes.isStopped(entry)) return 'changed'
  const lease = await deps.leases.take(entry, at, readyMessage.writes)
  if (lease === 'changed') return 'changed'
  if (lease === 'written') readyMessage.signed.isSignatureStored = true
  const result = await callFromSources(sources, turn, readyMessage, { ignoreOutages, pause }, deps)
  if ('until' in result) {
    await deps.postponements.postpone(entry, result)
    return 'changed'
  }
  const pendingWrites = lease === 'written' ? [] : readyMessage.writes
  return { entry, readyMessage, pendingWrites, result, number: entry.attempts + 1, at: result.begunAt ?? at }
}

function isProbe(hosts: readonly Host[], { unreachable, clock }: MakeAttemptDeps): boolean {
  return unreachable.checkReachability(hosts, clock()).kind === 'probe'
}

/** Tells whether an entry must be attempted now although its hosts are remembered as unreachable. */
function isForced(entry: QueueEntry, at: number, policy: RetryPolicy): boolean {
  return at >= forcedAttemptTimeOf({ enqueuedAt: entry.enqueued_at, noticed: entry.noticed === 1 }, policy)
}

function deferWithoutCall({ why, isBlock }: Outage): AttemptResult {
  const reason = isBlock === true ? 'spam-block' : 'rate-limited'
  const outcome = { kind: 'deferred', reason, response: why, reached: true } as const
  return { outcome, peer: null, transcript: '' }
}

/** Resolves to true if a hold rule matches. The entry is then held, unless it has changed. */
async function holdIfRuled(entry: QueueEntry, { holdRules }: MakeAttemptDeps): Promise<boolean> {
  const rule = await holdRules.findStored(entry)
  if (rule !== null) await holdRules.hold(entry, rule)
  return rule !== null
}

interface CallPlan {
  readonly ignoreOutages: boolean
  /** Not null if the hosts must not be called. */
  readonly pause: Outage | null
}

async function callFromSources(
  sources: AttemptSources,
  turn: AttemptTurn,
  readyMessage: ReadyMessage,
  { ignoreOutages, pause }: CallPlan,
  deps: MakeAttemptDeps,
): Promise<AttemptResult | Outage> {
  for (;;) {
    if (sources.wait !== null && !ignoreOutages) return sources.wait
    const destination = readyMessage.destination ?? sources.destination
    if (pause !== null && readyMessage.destination === null) return deferWithoutCall(pause)
    try {
      return await callHosts({ turn, readyMessage, destination, ignoreOutages, onSent: sources.count }, deps)
    } catch (error) {
      if (!(await sources.replaceMissing(error))) throw error
    }
  }
}

/** Milliseconds until an entry is due again that waited for its host when the lease of the node ended. */
const LEASE_PAUSE = 1_000

interface HostCall {
  readonly turn: AttemptTurn
  readonly readyMessage: ReadyMessage
  readonly destination: Destination
  readonly ignoreOutages: boolean
  readonly onSent: SourceAssignment['count']
}

function callHosts(
  { turn, readyMessage, destination, ignoreOutages, onSent }: HostCall,
  { sender, lanes, clock, mayBegin, abortSignal }: MakeAttemptDeps,
): Promise<AttemptResult | Outage> {
  const message: OutboundMessage = {
    ...readyMessage.message,
    onHandedOver: () => {
      turn.isHandedOver = true
    },
  }
  const acquireSlot: AcquireSlot = async (host, signal) => {
    const slot = await lanes.acquireSlot(turn.entry, host, signal)
    if (typeof slot !== 'function' || mayBegin()) return slot
    slot()
    return { kind: 'outage', until: clock() + LEASE_PAUSE, why: 'the lease of this node', isOfEntry: true }
  }
  const number = turn.entry.attempts + 1
  return sender.send(message, destination, { ignoreOutages, acquireSlot, onSent, number }, abortSignal)
}
