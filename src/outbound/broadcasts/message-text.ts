/**
 * Reads the texts of a broadcast while its frame is made. A *mark* is a word that stands for a variable while a frame
 * is composed; no other text contains it. So a text with marks can be read as HTML, rewritten and escaped like any
 * other, and then split at its marks.
 */

import { escapeHtml } from '../../base/mail/markup.js'
import { randomSecret } from '../../base/platform/ids.js'
import type { SlotEncoding } from '../../records/messages/frames/encode-slot.js'
import type { FrameText, FrameValue, FrameVariable } from '../../records/messages/frames/frame-recipe.js'
import type { FrameSlot } from '../../records/messages/frames/message-frame.js'
import { type TemplateText, UNSUBSCRIBE_URL, type Variable } from '../../workspaces/content/template-text.js'
import { buildUnsubscribeUrl } from '../sending/unsubscribe-links.js'

/** The place of a value. `raw` means that the value is not escaped in HTML. */
export interface ValuePlace {
  readonly value: FrameValue
  readonly raw: boolean
}

export type SplitText = readonly (string | ValuePlace)[]

const SECRET_BYTES = 12

export class Marks {
  private readonly prefix = `x${randomSecret(SECRET_BYTES).toString('hex')}n`
  private readonly places: ValuePlace[] = []

  /** A mark consists of ASCII letters and digits. */
  add(value: FrameValue, raw = true): string {
    this.places.push({ value, raw })
    return `${this.prefix}${this.places.length - 1}e`
  }

  split(text: string): SplitText {
    const [first = '', ...others] = text.split(this.prefix)
    const pieces: (string | ValuePlace)[] = [first]
    for (const other of others) {
      const end = other.indexOf('e')
      const place = this.places[Number(other.slice(0, end))]
      if (place === undefined) throw new Error('a mark in the text of a broadcast is damaged')
      pieces.push(place, other.slice(end + 1))
    }
    return pieces.filter((piece) => piece !== '')
  }

  /** Removes the start of a mark that may stand at the end of a text that was cut. */
  dropCutMark(text: string): string {
    const last = text.lastIndexOf(this.prefix)
    if (last !== -1 && !text.includes('e', last + this.prefix.length)) return text.slice(0, last)
    for (let length = this.prefix.length - 1; length > 1; length -= 1) {
      if (text.endsWith(this.prefix.slice(0, length))) return text.slice(0, -length)
    }
    return text
  }
}

/** Returns the text with marks in place of its variables. */
export function markText({ pieces }: TemplateText, marks: Marks, base: string, form: 'html' | 'text'): string {
  const unsubscribeUrl = buildUnsubscribeUrl(base, marks.add({ kind: 'unsubscribe-token' }))
  const link = form === 'html' ? escapeHtml(unsubscribeUrl) : unsubscribeUrl
  return pieces
    .map((piece) => {
      if (typeof piece === 'string') return piece
      if (piece.name === UNSUBSCRIBE_URL) return link
      return marks.add({ kind: 'variable', variable: toFrameVariable(piece) }, piece.raw)
    })
    .join('')
}

function toFrameVariable({ name, fallback, part }: Variable): FrameVariable {
  return { name, fallback: fallback ?? '', ...(part === null ? {} : { part }) }
}

/** The subject has no unsubscribe link, because lists and events show it. */
export function toSubject({ pieces }: TemplateText): FrameText {
  return pieces.flatMap((piece): FrameText => {
    if (typeof piece === 'string') return [piece]
    return piece.name === UNSUBSCRIBE_URL ? [] : [toFrameVariable(piece)]
  })
}

/** The values of a frame. Equal values share one slot value. */
export class FrameValues {
  private readonly places = new Map<string, number>()
  readonly values: FrameValue[] = []

  /** Returns the slot of a value. */
  slotOf(value: FrameValue, encoding: SlotEncoding): FrameSlot {
    const key = JSON.stringify(value)
    const known = this.places.get(key)
    if (known !== undefined) return { value: known, encoding }
    this.places.set(key, this.values.length)
    this.values.push(value)
    return { value: this.values.length - 1, encoding }
  }
}
