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

export interface HtmlReader {
  /** Names in lower case. */
  open(name: string, attributes: ReadonlyMap<string, string>): void
  close(name: string): void
  /** `encoded`: it was written as a character reference. */
  text(text: string, encoded: boolean): void
  comment(): void
}

const noText = new Set(['script', 'style', 'title'])

export function scanHtml(whole: string, reader: HtmlReader): void {
  const html = whole.slice(0, MAX_HTML)
  const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: true }, callbacks(html, reader))
  tokenizer.write(html)
  tokenizer.end()
}

type Callbacks = ConstructorParameters<typeof Tokenizer>[1]

function nothing(): void {
  // Declarations and the like say nothing to a reader.
}

function callbacks(html: string, reader: HtmlReader): Callbacks {
  let name = ''
  let attributes = new Map<string, string>()
  let attribute = ''
  let value = ''
  let silent = ''
  function opened(): void {
    if (noText.has(name)) silent = name
    reader.open(name, attributes)
  }
  function add(piece: string): void {
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
    onattribdata: (start, end) => add(html.slice(start, Math.min(end, start + MAX_ATTRIBUTE))),
    onattribentity: (code) => add(String.fromCodePoint(code)),
    onattribend() {
      if (attributes.size < MAX_ATTRIBUTES && !attributes.has(attribute)) attributes.set(attribute, value)
    },
    onopentagend: opened,
    onselfclosingtag: opened,
    onclosetag(start, end) {
      const closed = html.slice(start, Math.min(end, start + MAX_NAME)).toLowerCase()
      if (closed === silent) silent = ''
      reader.close(closed)
    },
    ontext(start, end) {
      if (silent === '') reader.text(html.slice(start, end), false)
    },
    ontextentity(code) {
      if (silent === '') reader.text(String.fromCodePoint(code), true)
    },
    oncomment: () => reader.comment(),
    oncdata: nothing,
    ondeclaration: nothing,
    onprocessinginstruction: nothing,
    onend: nothing,
  }
}
