/**
 * HTML as a row of tags and texts, read once from front to back; no tree is built, so no nesting
 * costs more than its bytes. Entities are decoded.
 *
 * Limits: 256 KB of HTML; 2,000 characters of an attribute, 40 attributes of a tag, 500 characters
 * of a name. What is in `script`, `style` and comments is no text.
 */
import { Tokenizer } from 'htmlparser2'

const MAX_HTML = 262_144
const MAX_ATTRIBUTE = 2_000
const MAX_ATTRIBUTES = 40
const MAX_NAME = 500

export interface HtmlHandler {
  /** Names in lower case. */
  openTag(name: string, attributes: ReadonlyMap<string, string>): void
  closeTag(name: string): void
  /** `encoded`: it was written as a character reference. */
  addText(text: string, encoded: boolean): void
  addComment(): void
}

const textlessTags = new Set(['script', 'style', 'title'])

export function scanHtml(whole: string, reader: HtmlHandler): void {
  const html = whole.slice(0, MAX_HTML)
  const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: true }, buildCallbacks(html, reader))
  tokenizer.write(html)
  tokenizer.end()
}

type Callbacks = ConstructorParameters<typeof Tokenizer>[1]

function doNothing(): void {
  // Declarations and the like say nothing to a reader.
}

function buildCallbacks(html: string, reader: HtmlHandler): Callbacks {
  let name = ''
  let attributes = new Map<string, string>()
  let attribute = ''
  let value = ''
  let skippedTag = ''
  function emitOpenTag(): void {
    if (textlessTags.has(name)) skippedTag = name
    reader.openTag(name, attributes)
  }
  function appendValue(piece: string): void {
    if (value.length < MAX_ATTRIBUTE) value += piece.slice(0, MAX_ATTRIBUTE)
  }
  return {
    onopentagname(start, end) {
      name = html.slice(start, Math.min(end, start + MAX_NAME)).toLowerCase()
      attributes = new Map()
    },
    onattribname(start, end) {
      attribute = html.slice(start, Math.min(end, start + MAX_NAME)).toLowerCase()
      value = ''
    },
    onattribdata: (start, end) => appendValue(html.slice(start, Math.min(end, start + MAX_ATTRIBUTE))),
    onattribentity: (code) => appendValue(String.fromCodePoint(code)),
    onattribend() {
      if (attributes.size < MAX_ATTRIBUTES && !attributes.has(attribute)) attributes.set(attribute, value)
    },
    onopentagend: emitOpenTag,
    onselfclosingtag: emitOpenTag,
    onclosetag(start, end) {
      const closed = html.slice(start, Math.min(end, start + MAX_NAME)).toLowerCase()
      if (closed === skippedTag) skippedTag = ''
      reader.closeTag(closed)
    },
    ontext(start, end) {
      if (skippedTag === '') reader.addText(html.slice(start, end), false)
    },
    ontextentity(code) {
      if (skippedTag === '') reader.addText(String.fromCodePoint(code), true)
    },
    oncomment: () => reader.addComment(),
    oncdata: doNothing,
    ondeclaration: doNothing,
    onprocessinginstruction: doNothing,
    onend: doNothing,
  }
}
