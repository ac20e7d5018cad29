/** Reads the header of a message as it is sent. It does not load the rest, which may be large. */
import { api, unwrap } from '../../api/client.ts'

/** Characters. */
const MAX_HEADER = 262_144
const END = '\r\n\r\n'

export async function readHeaderFields(id: string): Promise<string> {
  const answer = await unwrap(api.GET('/v1/emails/{id}/raw', { params: { path: { id } }, parseAs: 'stream' }))
  if (answer === null) return ''
  const reader = answer.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    const seen = Math.max(0, text.length - END.length)
    text += value
    const end = text.indexOf(END, seen)
    if (end !== -1 || done || text.length > MAX_HEADER) {
      await reader.cancel()
      return text.slice(0, end === -1 ? MAX_HEADER : end)
    }
  }
}
