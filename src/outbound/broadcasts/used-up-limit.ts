/** Decides what a broadcast does when a limit of its workspace or its sender domain is used up. Pure. */
import type { Refusal } from '../../base/mail/refusal.js'

type LimitReaction =
  /** The number of messages that fit. */
  | { readonly kind: 'fewer'; readonly count: number }
  /** It goes on by itself. */
  | { readonly kind: 'wait'; readonly until: number; readonly note: string }
  /** Time alone does not help. */
  | { readonly kind: 'pause'; readonly note: string }

/** `refusal`: why `count` messages were not accepted. */
export function reactToLimit({ message, details }: Refusal, count: number, now: number): LimitReaction {
  const remaining = Number(details?.['remaining'] ?? 0)
  if (remaining > 0 && remaining < count) return { kind: 'fewer', count: remaining }
  const resetAt = Date.parse(String(details?.['reset_at'] ?? ''))
  // More than the whole limit never fits: whether one does later, the refusal of one says.
  if (Number.isNaN(resetAt)) return count > 1 ? { kind: 'fewer', count: 1 } : { kind: 'pause', note: message }
  return { kind: 'wait', until: Math.max(resetAt, now + 1), note: message }
}
