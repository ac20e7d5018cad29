/** Our own form: the envelope, and the payload as the log has it. It expresses every type. */
import { formatTimestamp } from '../../../base/platform/clock.js'
import { type ComposedBody, type FormattedEvent, JSON_TYPE } from './event-format.js'

export function composePosthorn({ id, type, createdAt, data }: FormattedEvent): ComposedBody {
  const envelope = JSON.stringify({ id, type, created_at: formatTimestamp(createdAt) })
  return { body: `${envelope.slice(0, -1)},"data":${data}}`, contentType: JSON_TYPE }
}
