/**
 * Reads the answer of a gateway without a known interface: 2xx is success, unless its JSON says clearly that it is not.
 *
 * Some gateways report faults with the status 200. An answer in doubt is taken as success: a gateway whose every answer
 * were misread could not be used at all.
 */
import { isRecord } from '../../../base/platform/records.js'
import type { SendOutcome } from '../provider.js'
import { type GatewayAnswer, isGatewayMessageId, isSuccess, parseAnswerObject } from './http-style.js'

type AnswerObject = NonNullable<ReturnType<typeof parseAnswerObject>>

/** Fields with the id of the message. */
const ID_FIELDS = ['id', 'message_id', 'messageId', 'sid'] as const
/** Values of `status`. */
const failedStates: ReadonlySet<unknown> = new Set(['error', 'failed', 'failure', 'rejected'])
/** Values of `error` that deny a fault. */
const denials: ReadonlySet<string> = new Set(['', '0', 'false', 'no', 'none', 'null', 'ok', 'success'])

export function readTemplateAnswer(answer: GatewayAnswer): SendOutcome {
  const object = parseAnswerObject(answer)
  if (!isSuccess(answer) || (object !== null && reportsFault(object))) {
    return { kind: 'refused', reason: describeTemplateAnswer(answer) }
  }
  const id = object === null ? null : findId(object)
  return { kind: 'accepted', messageIds: id === null ? [] : [id] }
}

export function describeTemplateAnswer({ status, text }: GatewayAnswer): string {
  return text === '' ? `answered ${status}` : `answered ${status}: ${text}`
}

function reportsFault({ success, ok, status, error, errors }: AnswerObject): boolean {
  const isFailedState = typeof status === 'string' && failedStates.has(status.toLowerCase())
  return success === false || ok === false || isFailedState || namesFault(error) || namesFault(errors)
}

/** A text, a list with entries, or an object with another code than 0. */
function namesFault(value: unknown): boolean {
  if (typeof value === 'string') return !denials.has(value.trim().toLowerCase())
  if (Array.isArray(value)) return value.length > 0
  if (!isRecord(value)) return value === true
  return Object.keys(value).length > 0 && value['code'] !== 0 && value['code'] !== '0'
}

/** Null: the answer has none in a field that we know. */
function findId(object: AnswerObject): string | null {
  for (const field of ID_FIELDS) {
    const value = object[field]
    // A greater number has lost digits.
    const id = Number.isSafeInteger(value) ? String(value) : value
    if (isGatewayMessageId(id)) return id
  }
  return null
}
