/** Tells what happened to a recipient after its last attempt, and what comes next, in words for people. */
import type { RecipientDetails } from '../email-details.js'
import { isProviderPause, isWarmUpWait } from '../queue/waits-for.js'

/** A sentence with a moment in it, which its reader formats in the local way. */
export interface TimedText {
  readonly before: string
  /** An ISO 8601 time. Null if the sentence has none. */
  readonly at: string | null
  readonly after: string
}

/** Tells what a report said after the last attempt had delivered the message to a server. Null if there is none. */
export function describeLaterReport({ attempts, status, reason, last_response }: RecipientDetails): string | null {
  const last = attempts.at(-1)
  if (last === undefined || (last.outcome !== 'sent' && last.outcome !== 'delivered')) return null
  if (status === last.outcome && last_response === last.response) return null
  const now = status === last.outcome ? '' : `, now ${status}`
  const why = reason === null ? '' : ` (${reason})`
  const words = last_response === last.response ? '' : `: ${last_response ?? ''}`
  return `reported later${now}${why}${words}`
}

/** Returns null if nothing comes next. */
export function describeNext(recipient: RecipientDetails): TimedText | null {
  const { held_by, status, attempts, next_attempt_at: at, waits_for } = recipient
  if (held_by === 'rule') return { before: `held by ${waits_for}`, at: null, after: '' }
  if (held_by !== null)
    return { before: held_by === 'operator' ? 'held' : 'held by the workspace', at: null, after: '' }
  if (status !== 'queued' && status !== 'scheduled') return null
  if (at === null) {
    return { before: waits_for === null ? 'being attempted now' : `waits for ${waits_for}`, at, after: '' }
  }
  if (waits_for !== null && (isProviderPause(waits_for) || isWarmUpWait(waits_for))) {
    return { before: 'waits until ', at, after: `: ${waits_for}; no attempt is counted` }
  }
  if (waits_for !== null) {
    return { before: `waits for ${waits_for}, which is not called before `, at, after: '; no attempt is counted' }
  }
  return { before: `${attempts.length === 0 ? 'first' : 'next'} attempt `, at, after: '' }
}
