/**
 * The style in which messages are handed to an HTTP gateway: what a request of its kind looks like, and what its
 * answers say.
 */
import { isRecord } from '../../../base/platform/records.js'
import type { SendOutcome, SmsMessage } from '../provider.js'

export interface GatewayRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface GatewayAnswer {
  readonly status: number
  /** The text of the answer, or only its beginning if `isComplete` is false. */
  readonly text: string
  readonly isComplete: boolean
}

export interface HttpStyle {
  readonly buildRequest: (message: SmsMessage, now: number) => GatewayRequest
  /** Reads what an answer says about the message. The result is final. */
  readonly readAnswer: (answer: GatewayAnswer) => SendOutcome
  /** Returns the status and the gateway's words. Log them only through `toLogReason`. */
  readonly describeAnswer: (answer: GatewayAnswer) => string
}

/** The value of a field `authorization` by Basic authentication (RFC 7617), in UTF-8. */
export function buildBasicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

export function isSuccess({ status }: Pick<GatewayAnswer, 'status'>): boolean {
  return status >= 200 && status < 300
}

const MAX_ID_LENGTH = 200

/** Tells whether a value may be the id that a gateway gives to a message. We store it. */
export function isGatewayMessageId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH
}

/** Null means that the answer is not a JSON object. */
export function parseAnswerObject({ text, isComplete }: GatewayAnswer): Readonly<Record<string, unknown>> | null {
  if (!isComplete) return null
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
