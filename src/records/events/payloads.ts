/**
 * The payload of each type of event: `data` as GET /v1/events shows it and as a webhook receives it.
 *
 * Every writer of events uses these types, and a test compares the OpenAPI document with them. You may add fields, but
 * never rename or remove one. No payload in the log contains a message body.
 */
import type { Reason } from '../../base/mail/reasons.js'
import type { JsonObject } from '../../base/storage/tables/columns.js'
import type { SuppressionReason } from '../../base/storage/tables/content-tables.js'
import type { EventType, InternalEventType } from '../../base/storage/tables/email-tables.js'
import type { SpamStatus } from '../../base/storage/tables/inbound-tables.js'
import type { SmsEncoding, SmsFault } from '../../base/storage/tables/sms-tables.js'

/** What every event about a recipient of an email contains. Only a type, not an interface, can be a JSON object. */
export type EmailData = {
  readonly email_id: string
  readonly from: string
  /** The recipient. */
  readonly to: string
  readonly subject: string
  /** If several tags have the same name, their values are a list, in their order. */
  readonly tags: Readonly<Record<string, string | readonly string[]>>
}

type DeferredData = EmailData & {
  /** Null if the reason is not classified. */
  readonly reason: Reason | null
  readonly response: string
  /** The number of attempts. */
  readonly attempts: number
  /** Null if a later server is trying, because only that server knows the time. */
  readonly next_attempt_at: string | null
}

type BouncedData = EmailData & {
  /** `soft` means that the message was given up after temporary refusals. */
  readonly bounce_type: 'hard' | 'soft'
  readonly bounce_subtype: Reason | null
  readonly bounce_reason: string
}

type FailedData = EmailData & {
  readonly reason: Reason | null
  /** The last reply of a server, or what went wrong. Null if the email was removed before an attempt. */
  readonly response: string | null
}

/** A request for the pixel or for a link, without the data that only the record of the email has. */
type RequestData = {
  readonly email_id: string
  /** The first recipient if several share the pixel and the links. */
  readonly to: string
  /** Only messages of a broadcast have it. */
  readonly broadcast_id?: string | undefined
  readonly user_agent: string | null
  readonly ip_address: string | null
  /** True if a program that loads or scans mail made the request, not a person. */
  readonly machine: boolean
}

type ClickedData = RequestData & {
  /** Both fields are the URL to which the link leads. */
  readonly link: string
  readonly url: string
  readonly clicked_at: string
  readonly referer: string | null
}

/** Both ids are null if the email is no message of a broadcast. */
type UnsubscribedData = EmailData & {
  readonly unsubscribed_at: string
  readonly broadcast_id: string | null
  readonly contact_id: string | null
}

type ReceivedData = {
  readonly inbound_email_id: string
  readonly from: string
  readonly from_name: string
  readonly to: readonly string[]
  readonly cc: readonly string[] | null
  readonly subject: string
  readonly has_html: boolean
  readonly has_text: boolean
  readonly attachment_count: number
  readonly message_id: string | null
  readonly in_reply_to: string | null
  /** The message ids of the thread, oldest first. */
  readonly references: readonly string[]
  /** The recipients of the workspace in the envelope. */
  readonly envelope_to: readonly string[]
  /** What stands behind `+` in the local part of the first recipient that has it. */
  readonly plus: string | null
  readonly spam_status: SpamStatus | null
  readonly spam_score: number | null
  readonly attachments: readonly ReceivedAttachment[]
  /** Only requests to webhooks have the fields from here on. A link is valid for an hour. */
  readonly raw_url?: string | undefined
  readonly html?: string | null | undefined
  readonly text?: string | null | undefined
  readonly headers?: readonly { readonly name: string; readonly value: string }[] | undefined
  /** The message in base64. */
  readonly raw?: string | null | undefined
}

type ReceivedAttachment = {
  readonly id: string
  readonly filename: string
  readonly content_type: string
  /** The number of decoded bytes. */
  readonly size: number
  /** Only requests to webhooks have it. */
  readonly download_url?: string | undefined
}

/** A DNS record of a domain, and what was found in its place. */
export type RecordFinding = {
  readonly type: 'CNAME'
  readonly name: string
  readonly expected: string
  readonly found: string | null
  readonly status: 'pending' | 'verified' | 'failed'
}

export type DomainData = {
  readonly domain_id: string
  readonly domain: string
  readonly status: 'pending' | 'verified' | 'failed'
  /** True if a user asked for the check and saw its result. */
  readonly asked: boolean
  /** Empty if the operator decided, without DNS. */
  readonly records: readonly RecordFinding[]
}

/** What every event about a verification code contains. No event contains the code or the text of the message. */
type SmsData = {
  readonly sms_id: string
  /** The phone number in E.164 form. */
  readonly phone: string
  /** An ISO 3166-1 alpha-2 code. */
  readonly country: string
  readonly encoding: SmsEncoding
  readonly segments: number
  /** The metadata of the request. `{}` if it had none. */
  readonly metadata: JsonObject
}

/** A check of the machine or its DNS. The event belongs to the operator's workspace. */
type CheckData = {
  readonly check: string
  /** The subject of the check: an address, a domain, a file. */
  readonly subject: string
  /** The node that looked, where nodes have names. */
  readonly node?: string | undefined
}

/** What the circuit breaker found about the mail of one scope. */
export type SendingData = {
  readonly scope: 'workspace' | 'domain' | 'broadcast'
  /** The workspace's id, the domain, or the broadcast's id. */
  readonly id: string
  readonly cause: 'bounces' | 'complaints'
  /** The messages of the window: settled ones for bounces, delivered ones for complaints. */
  readonly messages: number
  /** The messages that bounced, or were reported as spam. */
  readonly failures: number
  readonly percent: number
  /** The limit that `percent` has exceeded. */
  readonly limit_percent: number
  readonly window_hours: number
}

/** The data of `service.checks_failed`: the new findings since the last notice. */
export type ChecksFailedData = {
  readonly checked_at: string
  readonly findings: readonly (CheckData & {
    readonly state: 'warn' | 'fail'
    readonly text: string
    readonly remedy: readonly string[]
  })[]
}

/** Payloads of the events that a workspace can read and subscribe to. */
export interface EventPayloads {
  readonly 'email.queued': EmailData
  readonly 'email.suppressed': EmailData & { readonly reason: SuppressionReason }
  readonly 'email.sent': EmailData & { readonly sent_at: string }
  readonly 'email.delivered': EmailData & { readonly delivered_at: string }
  readonly 'email.deferred': DeferredData
  readonly 'email.bounced': BouncedData
  readonly 'email.failed': FailedData
  readonly 'email.complained': EmailData & { readonly feedback_type: string; readonly complained_at: string }
  readonly 'email.opened': RequestData & { readonly opened_at: string }
  readonly 'email.clicked': ClickedData
  readonly 'email.unsubscribed': UnsubscribedData
  readonly 'email.received': ReceivedData
  readonly 'domain.verified': DomainData & { readonly verified_at: string }
  readonly 'domain.failed': DomainData & { readonly failed_at: string }
  readonly 'sms.sent': SmsData & { readonly sent_at: string; readonly expires_at: string }
  readonly 'sms.delivered': SmsData & { readonly delivered_at: string }
  readonly 'sms.failed': SmsData & { readonly reason: SmsFault; readonly failed_at: string }
  readonly 'sms.verified': SmsData & { readonly verified_at: string }
  readonly 'sending.warned': SendingData
  readonly 'sending.held': SendingData
  /**
   * Has the figures that led to the hold. `released_by` says whether the figures are under the limits again, or a
   * person released the mail.
   */
  readonly 'sending.released': SendingData & { readonly held_at: string; readonly released_by: 'figures' | 'person' }
  readonly 'service.check_failed': CheckData & {
    readonly state: 'warn' | 'fail'
    readonly text: string
    /** Commands or records to copy, one on each line. */
    readonly remedy: readonly string[]
    readonly checked_at: string
  }
  readonly 'service.check_recovered': CheckData & { readonly failed_at: string; readonly checked_at: string }
}

/** The payloads of all types, including those that only rooms of this server read. */
export type AllPayloads = EventPayloads & Readonly<Record<InternalEventType, JsonObject>>

const meanings: Readonly<Record<EventType, string>> = {
  'email.queued': 'The email was accepted for this recipient.',
  'email.suppressed': 'The recipient is on the suppression list, so the email is not sent to this address.',
  'email.sent': 'A server accepted the email for this recipient.',
  'email.delivered': "A mail server of the recipient's domain accepted the email.",
  'email.deferred': 'An attempt failed temporarily. Posthorn tries again.',
  'email.bounced':
    'A server refused the email permanently (`hard`), or Posthorn gave up after temporary refusals (`soft`).',
  'email.failed': 'Posthorn gave up because no server was reached, or the email was removed from the queue.',
  'email.complained': 'The recipient reported the email as spam.',
  'email.opened': 'A program loaded the tracking pixel of the email.',
  'email.clicked': 'A program followed a link of the email.',
  'email.unsubscribed': 'The recipient unsubscribed.',
  'email.received': 'An inbound email arrived.',
  'domain.verified': 'A domain was verified, so you can send mail from it.',
  'domain.failed': 'A domain is no longer verified, so Posthorn accepts no mail from it.',
  'sms.sent': 'The provider accepted the message with a verification code.',
  'sms.delivered': 'The message with a verification code reached the phone.',
  'sms.failed': 'The message with a verification code was not sent, or did not reach the phone.',
  'sms.verified': 'A verification code was checked and is correct.',
  'sending.warned': 'Bounces or complaints are above the limit for a warning.',
  'sending.held': 'Bounces or complaints are above the limit for a hold: Posthorn accepts mail and holds it.',
  'sending.released': 'Posthorn sends the held mail again.',
  'service.check_failed': "A daily check found a fault. Only the operator's workspace has this event.",
  'service.check_recovered':
    "A fault that a daily check had found is gone. Only the operator's workspace has this event.",
}

/** The types that a workspace can read and subscribe to, in the order of the documents. */
export const eventTypes = Object.keys(meanings) as readonly EventType[]

/** Returns one sentence for the OpenAPI document. */
export function describeEvent(type: EventType): string {
  return meanings[type]
}
