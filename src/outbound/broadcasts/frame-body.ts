/**
 * A body of a broadcast as pieces of its frame, in quoted-printable. Each piece and each slot begins and ends at the
 * start of a line; the body ends with a line end.
 */
import { encodeFullLines, SOFT_BREAK } from '../../records/messages/frames/encode-slot.js'
import type { FrameSlot } from '../../records/messages/frames/message-frame.js'
import type { FrameValues, SplitText, ValuePlace } from './message-text.js'

/** `text-of-html`: text that was made from the HTML. */
export type BodyForm = 'html' | 'text' | 'text-of-html'

export function encodeBody(parts: SplitText, form: BodyForm, values: FrameValues): readonly (Buffer | FrameSlot)[] {
  const pieces: (Buffer | FrameSlot)[] = []
  for (const part of withLineEnd(parts)) {
    if (typeof part === 'string') {
      pieces.push(encodeFullLines(part.replace(/\r\n|\r|\n/g, '\r\n')))
      continue
    }
    const slot = toSlot(part, form, values)
    pieces.push(slot)
    // The other encodings end at the start of a line by themselves.
    if (slot.encoding === 'verbatim') pieces.push(Buffer.from(SOFT_BREAK))
  }
  return pieces
}

function withLineEnd(parts: SplitText): SplitText {
  const last = parts.at(-1)
  if (typeof last !== 'string') return [...parts, '\r\n']
  return /[\r\n]$/.test(last) ? parts : [...parts.slice(0, -1), `${last}\r\n`]
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
