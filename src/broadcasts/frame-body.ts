/**
 * A body of a broadcast as pieces of its frame, in quoted-printable. Each piece and each slot begins and ends at the
 * start of a line; the body ends with a line end.
 *
 * Long text is encoded in steps, of which one turn of the event loop runs one.
 */
import { setImmediate } from 'node:timers/promises'
import { encodeFullLines, SOFT_BREAK } from '../messages/frames/encode-slot.js'
import type { FrameSlot } from '../messages/frames/message-frame.js'
import type { FrameValues, SplitText, ValuePlace } from './message-text.js'

/** `text-of-html`: text that was made from the HTML. */
export type BodyForm = 'html' | 'text' | 'text-of-html'

/** Characters that are encoded in one step. */
const STEP = 32_768

export async function encodeBody(
  parts: SplitText,
  form: BodyForm,
  values: FrameValues,
): Promise<readonly (Buffer | FrameSlot)[]> {
  const pieces: (Buffer | FrameSlot)[] = []
  let encoded = 0
  for (const part of withLineEnd(parts)) {
    if (typeof part !== 'string') {
      const slot = toSlot(part, form, values)
      // The other encodings end at the start of a line by themselves.
      pieces.push(...(slot.encoding === 'verbatim' ? [slot, Buffer.from(SOFT_BREAK)] : [slot]))
      continue
    }
    const text = part.replace(/\r\n|\r|\n/g, '\r\n')
    for (let at = 0; at < text.length; ) {
      const end = findCut(text, at + STEP)
      pieces.push(encodeFullLines(text.slice(at, end)))
      encoded += end - at
      at = end
      if (encoded < STEP) continue
      encoded = 0
      await setImmediate()
    }
  }
  return pieces
}

function withLineEnd(parts: SplitText): SplitText {
  const last = parts.at(-1)
  if (typeof last !== 'string') return [...parts, '\r\n']
  return /[\r\n]$/.test(last) ? parts : [...parts.slice(0, -1), `${last}\r\n`]
}

/** At most one character before `at`: neither within a surrogate pair nor within a line end. */
function findCut(text: string, at: number): number {
  const isSplit = text.charAt(at) === '\n' || /[\udc00-\udfff]/.test(text.charAt(at))
  return Math.min(text.length, isSplit ? at - 1 : at)
}

function toSlot({ value, raw }: ValuePlace, form: BodyForm, values: FrameValues): FrameSlot {
  switch (value.kind) {
    case 'variable': {
      const isMarkup = form === 'text-of-html' && raw
      const kind = isMarkup ? 'text-of-variable' : 'variable'
      const isEscaped = form === 'html' && !raw
      return values.slotOf({ ...value, kind }, isEscaped ? 'quoted-printable-html' : 'quoted-printable-text')
    }
    case 'link':
      return values.slotOf(value, 'quoted-printable-html')
    default:
      return values.slotOf(value, 'verbatim')
  }
}
