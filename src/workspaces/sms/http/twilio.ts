/**
 * The HTTP interface of Twilio's Messages, which other gateways have too: a form, Basic authentication, and JSON
 * answers.
 *
 * `url` is the URL of the list of messages: `https://api.twilio.com/2010-04-01/Accounts/AC…/Messages.json`.
 */
import type { SendOutcome, SmsMessage } from '../provider.js'
import {
  buildBasicAuthorization,
  type GatewayAnswer,
  type HttpStyle,
  isGatewayMessageId,
  isSuccess,
  parseAnswerObject,
} from './http-style.js'

interface TwilioSettings {
  readonly username: string
  readonly password: string
  /** A number, a name, or the id of a messaging service. */
  readonly sender: string
}

/** Senders of any other form that begin with these letters are names. */
const messagingService = /^MG[0-9a-f]{32}$/

/** Seconds that the interface allows as the validity of a message. */
const MAX_VALIDITY = 36_000

const failedStates: ReadonlySet<unknown> = new Set(['failed', 'undelivered', 'canceled'])

export function createTwilioStyle({ username, password, sender }: TwilioSettings): HttpStyle {
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    authorization: buildBasicAuthorization(username, password),
  }
  const from = messagingService.test(sender) ? { MessagingServiceSid: sender } : { From: sender }
  return {
    buildRequest: (message, now) => ({ headers, body: buildForm(message, from, now) }),
    readAnswer,
    describeAnswer,
  }
}

function buildForm(message: SmsMessage, from: Readonly<Record<string, string>>, now: number): string {
  const secondsLeft = Math.floor((message.expiresAt - now) / 1000)
  return new URLSearchParams({
    To: message.phone,
    ...from,
    Body: message.text.text,
    StatusCallback: message.receiptUrl,
    ValidityPeriod: String(Math.min(MAX_VALIDITY, Math.max(1, secondsLeft))),
  }).toString()
}

function readAnswer(answer: GatewayAnswer): SendOutcome {
  const { sid, status } = parseAnswerObject(answer) ?? {}
  const isTaken = isSuccess(answer) && isGatewayMessageId(sid) && !failedStates.has(status)
  return isTaken ? { kind: 'accepted', messageIds: [sid] } : { kind: 'refused', reason: describeAnswer(answer) }
}

/** A refusal has `code` and `message`. A message that failed at once has `error_code` and `error_message`. */
function describeAnswer(answer: GatewayAnswer): string {
  const object = parseAnswerObject(answer)
  if (object === null) return `answered ${answer.status}, without the JSON of this API`
  const { status, code = object['error_code'], message = object['error_message'] } = object
  const state = typeof status === 'string' ? `, status ${status}` : ''
  const words = typeof message === 'string' ? `: ${message}` : ''
  return `answered ${answer.status}${state}${isCode(code) ? `, code ${code}` : ''}${words}`
}

function isCode(code: unknown): code is number | string {
  return typeof code === 'number' || typeof code === 'string'
}
