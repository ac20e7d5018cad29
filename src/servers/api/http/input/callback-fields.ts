/**
 * Reads what a service reports: the fields of the query, and of a body that is a form or a JSON object.
 *
 * Services differ in the type that they declare and in how they write names. The body is therefore read by its first
 * character, and names are in lower case without hyphens and underscores. A body that is neither has no fields.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ReservableMemory } from '../../../../base/platform/memory/reservation.js'
import { isRecord } from '../../../../base/platform/records.js'
import { parseJsonBody } from './json-body.js'
import { type BodyPace, readBody, sendContinue } from './read-body.js'

/** Bytes. */
const MAX_CALLBACK_BODY = 16_384
/** Limits the fields of a query or a body; further ones are ignored. */
const MAX_FIELDS = 200

/** Fields of the body count before those of the query. Rejects like `readBody`. */
export async function readCallbackFields(
  request: IncomingMessage,
  response: ServerResponse,
  memory: ReservableMemory,
  pace: BodyPace,
): Promise<ReadonlyMap<string, string>> {
  const { url = '' } = request
  const start = url.indexOf('?')
  sendContinue(request, response)
  const { raw, release } = await readBody(request, MAX_CALLBACK_BODY, memory, pace)
  try {
    const inQuery = parseForm(start === -1 ? '' : url.slice(start + 1))
    return new Map([...inQuery, ...parseCallbackBody(raw)])
  } finally {
    release()
  }
}

export function parseCallbackBody(raw: Buffer): ReadonlyMap<string, string> {
  const text = raw.toString().trimStart()
  return text.startsWith('{') ? fieldsOf(parseObject(raw)) : parseForm(text)
}

/** Parses a form; if a name is given twice, the first counts. */
function parseForm(text: string): ReadonlyMap<string, string> {
  return collectFields([...new URLSearchParams(text)])
}

/** Empty for what is not JSON, nests too deep or is no object. */
function parseObject(raw: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value = parseJsonBody(raw)
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}

/** Texts, numbers and flags. An object counts as its name: `{"status": {"name": "delivered"}}`. */
function fieldsOf(object: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return collectFields(
    Object.entries(object).flatMap(([name, value]) => {
      const plain: unknown = isRecord(value) ? value['name'] : value
      return isScalar(plain) ? [[name, String(plain)] as const] : []
    }),
  )
}

function collectFields(pairs: readonly (readonly [name: string, value: string])[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of pairs.slice(0, MAX_FIELDS)) {
    const key = name.toLowerCase().replace(/[_-]/g, '')
    if (!fields.has(key)) fields.set(key, value)
  }
  return fields
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
