/** The events about the state of a sending domain. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Write } from '../../../base/storage/db/write.js'
import { recordEvent } from '../../../records/events/event-log.js'
import type { DomainData } from '../../../records/events/payloads.js'
import type { SendingDomain } from '../rows/sending-domains.js'
import type { DomainEventType } from './check-outcome.js'

interface DomainEvent {
  readonly workspaceId: string
  readonly type: DomainEventType
  readonly at: number
  readonly about: DomainData
  /** The moment when sending from a broken domain stops. */
  readonly failsAt?: number
}

export function recordDomainEvent({ workspaceId, type, at, about, failsAt = at }: DomainEvent): Write {
  const event = { workspaceId, emailId: null, recipient: null, at }
  const moment = formatTimestamp(at)
  switch (type) {
    case 'domain.verified':
      return recordEvent({ ...event, type, data: { ...about, verified_at: moment } })
    case 'domain.failed':
      return recordEvent({ ...event, type, data: { ...about, failed_at: moment } })
    case 'domain.broken':
      return recordEvent({ ...event, type, data: { ...about, broken_at: moment, fails_at: formatTimestamp(failsAt) } })
  }
}

/** Records that the operator declared the domain verified, without DNS. */
export function recordForcedVerification({ id, workspace_id: workspaceId, domain }: SendingDomain, at: number): Write {
  const about = { domain_id: id, domain, status: 'verified', asked: true, records: [] } as const
  return recordDomainEvent({ workspaceId, type: 'domain.verified', at, about })
}
