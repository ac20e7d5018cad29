/** Records the events of the breaker. */

import { formatTimestamp } from '../../base/platform/clock.js'
import type { Write } from '../../base/storage/db/write.js'
import { recordEvent } from '../../records/events/event-log.js'
import type { SendingData } from '../../records/events/payloads.js'
import type { BreakerState } from './breaker-states.js'
import { percentOf } from './judge-figures.js'

/** The hours for which outcomes count. */
const windowHours = { bounces: 24, complaints: 168 } as const

function dataOf({ scope, subject, cause, messages, failures, limit_hundredths }: BreakerState): SendingData {
  const percent = percentOf({ messages, failures })
  return {
    scope,
    id: subject,
    cause,
    messages,
    failures,
    percent,
    limit_percent: limit_hundredths / 100,
    window_hours: windowHours[cause],
  }
}

/** Records the event of a warning or a hold. */
export function recordStateEvent(state: BreakerState): Write {
  const { workspace_id: workspaceId, since: at } = state
  const type = state.state === 'held' ? 'sending.held' : 'sending.warned'
  return recordEvent({ workspaceId, type, emailId: null, recipient: null, at, data: dataOf(state) })
}

export function recordReleaseEvent(state: BreakerState, releasedBy: 'figures' | 'person', at: number): Write {
  const { workspace_id: workspaceId, since } = state
  const data = { ...dataOf(state), held_at: formatTimestamp(since), released_by: releasedBy }
  return recordEvent({ workspaceId, type: 'sending.released', emailId: null, recipient: null, at, data })
}
