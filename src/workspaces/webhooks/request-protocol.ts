/**
 * The messages between the main thread and the thread that makes the requests of webhooks. Lists of jobs go to the
 * thread, and lists of outcomes come back. A number names a job. Outcomes come in any order.
 */

/** Requests that the thread has at a time, including those that wait on it. */
export const MAX_REQUESTS = 256

import type { WebhookFormat } from '../../base/storage/tables/webhook-tables.js'
import type { DeliveredEvent, EmailFacts } from './formats/event-format.js'
import type { OwnHeaders } from './settings/own-headers.js'

/** The data with which the thread starts. */
export interface RequestThreadData {
  readonly userAgent: string
  /** PEM certificates to trust instead of the system's. */
  readonly authorities: string | undefined
}

export interface RequestContent {
  readonly webhookId: string
  /** Requests to the endpoint at a time. Further jobs wait on the thread. */
  readonly limit: number
  /** The id of the delivery. It is the same for each attempt. */
  readonly deliveryId: string
  /** Which attempt of the delivery this is, from 1. */
  readonly attempt: number
  readonly event: DeliveredEvent
  readonly format: WebhookFormat
  /** What the format needs of the email that the event is about, or null. */
  readonly email: EmailFacts | null
  /** The body, if it has parts of a message. The thread makes others from the event. */
  readonly body: MessageBody | null
  readonly headers: OwnHeaders
  /** `user:password` for Basic authentication, or null. */
  readonly login: string | null
  /** PKCS #8 in base64, or null. */
  readonly verificationSecret: string | null
  readonly url: string
  /** The only addresses that the thread dials. */
  readonly addresses: readonly string[]
  readonly secret: string
  readonly previousSecret: string | null
  /** Epoch milliseconds. */
  readonly at: number
  /** Milliseconds for the whole job. */
  readonly timeout: number
}

/** The memory of the bytes goes to the thread. */
export interface MessageBody {
  readonly bytes: Uint8Array
  readonly contentType: string
}

export type RequestJob = RequestContent & { readonly number: number }

/** The answer of an endpoint, or why there is none. */
export type RequestOutcome =
  /** `took` is in milliseconds. */
  | { readonly kind: 'answer'; readonly status: number; readonly body: string; readonly took: number }
  | { readonly kind: 'fault'; readonly reason: string }

/** The thread did not make the request, because one before it failed. */
export type NotMade = { readonly kind: 'not-made' }

/** No request can ever be made of the event, so none was. */
export interface Undeliverable {
  readonly kind: 'undeliverable'
  readonly reason: string
}

export type JobOutcome = readonly [number: number, outcome: RequestOutcome | NotMade]

export function isDelivered(outcome: RequestOutcome): boolean {
  return outcome.kind === 'answer' && outcome.status >= 200 && outcome.status < 300
}
