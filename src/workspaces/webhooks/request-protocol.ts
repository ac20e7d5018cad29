/**
 * The messages between the main thread and the thread that makes the requests of webhooks: lists of jobs one way, lists
 * of outcomes the other. A number names a job; outcomes come in any order.
 */

/** Requests that the thread has at a time, with those that wait on it. */
export const MAX_REQUESTS = 256

/** What the thread is started with. */
export interface RequestThreadData {
  readonly userAgent: string
  /** PEM certificates that are trusted instead of the system's. */
  readonly authorities: string | undefined
}

export interface RequestContent {
  readonly webhookId: string
  /** Requests to the endpoint at a time; jobs beyond wait on the thread. */
  readonly limit: number
  /** The id of the delivery: the same for each attempt. */
  readonly deliveryId: string
  /** Which attempt of the delivery this is, from 1. */
  readonly attempt: number
  readonly event: DeliveredEvent
  readonly url: string
  /** The only addresses that are dialled. */
  readonly addresses: readonly string[]
  readonly secret: string
  readonly previousSecret: string | null
  /** Epoch milliseconds. */
  readonly at: number
  /** Milliseconds for all of it. */
  readonly timeout: number
}

export interface DeliveredEvent {
  readonly id: string
  readonly type: string
  readonly created_at: number
  /** JSON, which is sent as it is. */
  readonly data: string
}

export type RequestJob = RequestContent & { readonly number: number }

/** The answer of an endpoint, or why there is none. */
export type RequestOutcome =
  /** `took`: milliseconds. */
  | { readonly kind: 'answer'; readonly status: number; readonly body: string; readonly took: number }
  | { readonly kind: 'fault'; readonly reason: string }

/** The request was not made, because one before it failed. */
export type NotMade = { readonly kind: 'not-made' }

export type JobOutcome = readonly [number: number, outcome: RequestOutcome | NotMade]

export function isDelivered(outcome: RequestOutcome): boolean {
  return outcome.kind === 'answer' && outcome.status >= 200 && outcome.status < 300
}
