/** A pace as the operator sees it, on the command line and over REST. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import { describePause, nameProvider } from '../../../records/messages/queue/waits-for.js'
import type { PaceRow } from './pace-store.js'

export const paceStates = ['open', 'limited', 'paused', 'probing'] as const

interface PaceView {
  readonly provider: string
  readonly name: string
  /** Null for the address that the system chooses. */
  readonly source_address: string | null
  /** The most sessions that are open at a time. Null if there is no limit. */
  readonly sessions: number | null
  readonly messages_per_session: number | null
  /** Messages per second. Null if no limit is known. */
  readonly rate: number | null
  /** `limited`: a rate is kept. `probing`: a pause is over, and one message tests whether the provider takes mail. */
  readonly state: (typeof paceStates)[number]
  readonly reason: string | null
  readonly until: string | null
  readonly changed_at: string
}

export function viewPace(row: PaceRow, now: number): PaceView {
  const { provider, source, sessions, messages, rate, pause_kind: kind, pause_reply: reply, pause_until: until } = row
  return {
    provider,
    name: nameProvider(provider),
    source_address: source === '' ? null : source,
    sessions,
    messages_per_session: messages,
    rate: rate === null ? null : rate / 1000,
    state: stateOf(row, now),
    reason: kind === null || reply === null ? null : describePause({ provider, kind, reply }),
    until: kind === null || until === null ? null : formatTimestamp(until),
    changed_at: formatTimestamp(row.updated_at),
  }
}

function stateOf({ pause_kind, pause_until, rate }: PaceRow, now: number): PaceView['state'] {
  if (pause_kind !== null) return (pause_until ?? 0) > now ? 'paused' : 'probing'
  return rate === null ? 'open' : 'limited'
}
