/**
 * Reads the answer of a gateway without a known interface. A 2xx status is success, unless its JSON says clearly
 * that it is not.
 *
 * Some gateways report faults with the status 200. We take an unclear answer as success. If we misread every answer
 * of a gateway as a fault, you could not use that gateway.
 */
import { isRecord } from '../../../base/platform/records.js'
import type { SendOutcome } from '../provider.js'
import { type GatewayAnswer, isGatewayMessageId, isSuccess, parseAnswerObject } from './http-style.js'

type AnswerObject = NonNullable<ReturnType<typeof parseAnswerObject>>

/** Fields with the id of the message. */
const ID_FIELDS = ['id', 'message_id', 'messageId', 'sid'] as const
/** Values of `status` that report a failure. */
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

/** Recognises a text, a list with entries, or an object with another code than 0. */
function namesFault(value: unknown): boolean {
  if (typeof value === 'string') return !denials.has(value.trim().toLowerCase())
  if (Array.isArray(value)) return value.length > 0
  if (!isRecord(value)) return value === true
  return Object.keys(value).length > 0 && value['code'] !== 0 && value['code'] !== '0'
}

/** Null means that no field that we know has the id. */
function findId(object: AnswerObject): string | null {
  for (const field of ID_FIELDS) {
    const value = object[field]
    // A greater number has lost digits.
    const id = Number.isSafeInteger(value) ? String(value) : value
    if (isGatewayMessageId(id)) return id
  }
  return null
}
