/**
 * Says why an entry is in the queue, as one word of a closed list: the reason of its last attempt, or what its next
 * attempt waits for. Lists, filters, counts and metrics use it; `describeEntry` tells more of a single reply.
 */
import { describeReason, type Reason, reasons } from '../../../base/mail/reasons.js'
import type { RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { QueueEntry } from './queue.js'
import type { QueueStatus } from './queue-status.js'
import { describeWait, isProviderPause, isWarmUpWait } from './waits-for.js'

interface Judged extends Pick<QueueEntry, 'held' | 'leased' | 'attempts' | 'waits_for'> {
  readonly recipient_status: RecipientStatus
  /** The reason why the last attempt failed. */
  readonly reason: Reason | null
}

/** Returns the status of an entry, as lists show it. */
export function queueStatusOf({
  held,
  leased,
  attempts,
  recipient_status,
}: Pick<Judged, 'held' | 'leased' | 'attempts' | 'recipient_status'>): QueueStatus {
  if (held !== HOLD.none) return 'held'
  if (leased === 1) return 'sending'
  if (recipient_status === 'scheduled') return 'scheduled'
  return attempts === 0 ? 'queued' : 'deferred'
}

const states = {
  held: 'The operator holds the message.',
  'held-by-workspace': 'A member of the workspace holds the message.',
  'hold-rule': 'A hold rule holds the message.',
  'paused-broadcast': 'The broadcast of the message is paused.',
  sending: 'An attempt is in progress.',
  'provider-pause': 'The provider has asked for a slower pace or blocks our address, so there is no attempt for now.',
  'host-down': 'All hosts of the domain are known to be down, so there is no attempt for now.',
  scheduled: 'The message waits for the time that its sender has set.',
  'not-tried': 'The message is due, but there has been no attempt yet.',
} as const satisfies Readonly<Record<string, string>>

export type WaitReason = Reason | keyof typeof states

const holds = {
  [HOLD.byOperator]: 'held',
  [HOLD.byBroadcast]: 'paused-broadcast',
  [HOLD.byMember]: 'held-by-workspace',
  [HOLD.byRule]: 'hold-rule',
} as const

function isState(word: string): word is keyof typeof states {
  return Object.hasOwn(states, word)
}

export const waitReasons: readonly WaitReason[] = [...Object.keys(states).filter(isState), ...reasons]

/** Returns one English sentence. */
export function describeWaitReason(reason: WaitReason): string {
  return isState(reason) ? states[reason] : describeReason(reason)
}

export function waitReasonOf({ held, leased, attempts, waits_for, recipient_status, reason }: Judged): WaitReason {
  if (held !== HOLD.none) return holds[held]
  if (leased === 1) return 'sending'
  if (waits_for !== null) return reasonOfWait(waits_for)
  if (attempts > 0) return reason ?? 'unclassified'
  return recipient_status === 'scheduled' ? 'scheduled' : 'not-tried'
}

function reasonOfWait(waitsFor: string): WaitReason {
  if (isProviderPause(waitsFor)) return 'provider-pause'
  return isWarmUpWait(waitsFor) ? 'warming-up' : 'host-down'
}

/** The few words that all entries of a reason share. */
const words: Readonly<Partial<Record<WaitReason, string>>> = {
  held: 'held by the operator',
  'held-by-workspace': 'held by a member of its workspace',
  sending: 'being sent',
  scheduled: 'scheduled for later',
  'not-tried': 'not tried yet',
}
/** Matches the reply code, and the enhanced status code if there is one. */
const codesForm = /^([245]\d\d)(?:[ -]([245]\.\d{1,3}\.\d{1,3})\b|\b)/
/** The most characters of a reply without a code, and of what an entry waits for. */
const [MAX_REPLY, MAX_WAIT] = [80, 160]

/** Describes a reply by its codes, because servers write different texts into each reply. */
export function describeEntry(entry: Judged & Pick<QueueEntry, 'last_response'>): string {
  const shared = words[waitReasonOf(entry)] ?? describeWait(entry)?.slice(0, MAX_WAIT)
  if (shared !== undefined) return shared
  if (entry.last_response === null) return 'not tried yet'
  const [, code, enhanced] = codesForm.exec(entry.last_response) ?? []
  if (code === undefined) return entry.last_response.slice(0, MAX_REPLY)
  return enhanced === undefined ? `answer ${code}` : `answer ${code} ${enhanced}`
}
