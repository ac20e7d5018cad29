/**
 * A *format* is the form in which a webhook gets its events: our own, or that of another service, whose receivers then
 * work unchanged.
 *
 * An event of which the other service knows no counterpart is not delivered. An attempt that is repeated has the same
 * ids; only times of the attempt differ, which signatures contain.
 */
import type { Tag } from '../../../base/storage/tables/email-tables.js'

/** What the record of an email adds to its events. */
export interface EmailFacts {
  readonly message_id: string
  readonly from_email: string
  readonly to_emails: readonly string[]
  readonly subject: string
  readonly tags: readonly Tag[]
  /** Bytes. */
  readonly size: number
  /** Epoch milliseconds of the first open. */
  readonly opened_at: number | null
}

/** An event as the log has it. */
export interface DeliveredEvent {
  readonly id: string
  readonly type: string
  readonly created_at: number
  /** The payload as JSON. */
  readonly data: string
}

export interface FormattedEvent {
  readonly id: string
  readonly type: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** The payload as JSON. */
  readonly data: string
  /** Epoch milliseconds of the attempt. */
  readonly at: number
  /** The signing secret of the webhook. */
  readonly secret: string
  /** Null if the event is about no email, if the format needs nothing of it, or if it is gone. */
  readonly email: EmailFacts | null
}

export interface ComposedBody {
  readonly body: Buffer | string
  readonly contentType: string
}

export const JSON_TYPE = 'application/json'

export interface EventFormat {
  /** The types of events that the format can express. */
  readonly types: ReadonlySet<string>
  readonly compose: (event: FormattedEvent) => ComposedBody
}
