/**
 * A stored form as it crosses to the main thread: JSON, and the long texts apart from it. JSON would look at each of
 * their characters twice; the structured clone algorithm copies them.
 */
import { type Json, parseJson, toJson } from '../../../base/storage/tables/columns.js'
import type { AnalyzedContent } from '../analysis/inbound-analyzer.js'
import type { ByteRange, FoundForm } from './stored-form.js'

/** The `pieces` of the message are views of its bytes. `content` is null if it is yet to be analyzed. */
export interface StoredForm {
  readonly pieces: readonly Uint8Array[]
  readonly content: AnalyzedContent | null
}

/** A place in `texts`. */
type TextPlace = number

interface FormOutline {
  readonly pieces: readonly (ByteRange | TextPlace)[]
  readonly content: {
    readonly summary: AnalyzedContent['summary']
    readonly rules: AnalyzedContent['analysis']['rules']
    readonly keys: TextPlace
  } | null
}

export interface PackedForm {
  readonly outline: Json<FormOutline>
  readonly texts: readonly string[]
}

export function packForm({ pieces, content }: FoundForm): PackedForm {
  const texts: string[] = []
  const addText = (text: string): TextPlace => texts.push(text) - 1
  const outline = toJson<FormOutline>({
    pieces: pieces.map((piece) => (typeof piece === 'string' ? addText(piece) : piece)),
    content:
      content === null
        ? null
        : { summary: content.summary, rules: content.analysis.rules, keys: addText(content.analysis.keys) },
  })
  return { outline, texts }
}

/** `raw` is the message that the form was made of. */
export function unpackForm({ outline, texts }: PackedForm, raw: Buffer): StoredForm {
  const { pieces, content } = parseJson(outline)
  const textAt = (place: TextPlace): string => texts[place] ?? ''
  return {
    pieces: pieces.map((piece) =>
      typeof piece === 'number' ? Buffer.from(textAt(piece)) : raw.subarray(piece[0], piece[1]),
    ),
    content:
      content === null
        ? null
        : { summary: content.summary, analysis: { rules: content.rules, keys: textAt(content.keys) } },
  }
}
