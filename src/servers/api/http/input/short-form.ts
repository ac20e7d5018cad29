/** The fields of a short form, for routes that take any other body too and ignore it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ReservableMemory } from '../../../../base/platform/memory/reservation.js'
import { type BodyPace, readBody, sendContinue } from './read-body.js'

/** Bytes. */
const MAX_SHORT_FORM = 1_024

/** Empty if the body is of another type, of unknown length, or too long. Rejects like `readBody`. */
export async function readShortForm(
  request: IncomingMessage,
  response: ServerResponse,
  memory: ReservableMemory,
  pace: BodyPace,
): Promise<URLSearchParams> {
  const { 'content-type': type = '', 'content-length': length = '0' } = request.headers
  const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)
  if (!isForm || Number(length) === 0 || Number(length) > MAX_SHORT_FORM) return new URLSearchParams()
  sendContinue(request, response)
  const { raw, release } = await readBody(request, MAX_SHORT_FORM, memory, pace)
  try {
    return new URLSearchParams(raw.toString())
  } finally {
    release()
  }
}
