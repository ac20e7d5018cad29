/**
 * Says why an entry is in the queue, as one word of a closed list: the reason of its last attempt, or what stands
 * before its next one. Filters and summaries use it; `reasonOfEntry` tells more of a single reply.
 */
import { describeReason, type Reason, reasons } from '../../../base/mail/reasons.js'
import type { Flag } from '../../../base/storage/tables/columns.js'
import type { Hold, RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import { isProviderPause } from './provider-pause.js'
import { isWarmUpWait } from './warm-up-wait.js'

const states = {
  held: 'Held by the operator.',
  'held-by-workspace': 'Held by a member of the workspace.',
  'hold-rule': 'Held by a hold rule.',
  'paused-broadcast': 'Its broadcast is paused.',
  sending: 'Being sent.',
  'provider-pause': 'The provider has asked for a slower pace, or blocks our address; no attempt is counted.',
  'host-down': 'All hosts of the domain are known to be down; no attempt is counted.',
  scheduled: 'Waits for the time that its sender set.',
  'not-tried': 'Due, not attempted yet.',
} as const satisfies Readonly<Record<string, string>>

export type WaitReason = Reason | keyof typeof states

const holds = { 1: 'held', 2: 'paused-broadcast', 3: 'held-by-workspace', 4: 'hold-rule' } as const

function isState(word: string): word is keyof typeof states {
  return Object.hasOwn(states, word)
}

export const waitReasons: readonly WaitReason[] = [...Object.keys(states).filter(isState), ...reasons]

/** One English sentence. */
export function describeWaitReason(reason: WaitReason): string {
  return isState(reason) ? states[reason] : describeReason(reason)
}

interface Judged {
  readonly held: Hold
  readonly leased: Flag
  readonly attempts: number
  readonly waits_for: string | null
  readonly recipient_status: RecipientStatus
  readonly reason: Reason | null
}

function reasonOfWait(waitsFor: string): WaitReason {
  if (isProviderPause(waitsFor)) return 'provider-pause'
  return isWarmUpWait(waitsFor) ? 'warming-up' : 'host-down'
}

export function waitReasonOf({ held, leased, attempts, waits_for, recipient_status, reason }: Judged): WaitReason {
  if (held !== 0) return holds[held]
  if (leased === 1) return 'sending'
  if (waits_for !== null) return reasonOfWait(waits_for)
  if (attempts > 0) return reason ?? 'unclassified'
  return recipient_status === 'scheduled' ? 'scheduled' : 'not-tried'
}
