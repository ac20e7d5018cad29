/**
 * The one reader of HTML: a sequence of tags, texts and comments, with their places in the source.
 *
 * It makes one pass and builds no tree, so its time is linear however deep or broken the markup is.
 * Character references are decoded. A tag that the end of the input cuts off is dropped, as browsers do.
 * The content of unrendered elements is reported as text: a handler that wants none skips it.
 *
 * Limits: 256 KB of HTML unless the caller says otherwise; 200 attributes of a tag, 2,000 characters of
 * a value, 500 of a name. What exceeds a limit is left out.
 */
import { Tokenizer } from 'htmlparser2'

const MAX_HTML = 262_144
const MAX_ATTRIBUTES = 200
const MAX_VALUE = 2_000
const MAX_NAME = 500

export interface HtmlAttribute {
  /** Lower case. */
  readonly name: string
  readonly value: string
  /** `html.slice(start, end)` is the value as written, without its quotes; both 0 where there is none. */
  readonly start: number
  readonly end: number
}

export interface HtmlTag {
  /** Lower case. */
  readonly name: string
  /** In their order; of several with one name the first is valid (HTML section 13.2.5.33). */
  readonly attributes: readonly HtmlAttribute[]
  /** Written as `<tag/>`. */
  readonly selfClosing: boolean
  /** `html.slice(start, end)` is the tag as written. */
  readonly start: number
  readonly end: number
}

export interface HtmlHandler {
  onOpenTag(tag: HtmlTag): void
  /** `name`: lower case. */
  onCloseTag(name: string): void
  /** `isReference`: it is one character reference, decoded. */
  onText(text: string, isReference: boolean): void
  onComment?(): void
}

export function readHtml(source: string, handler: HtmlHandler, maxLength: number = MAX_HTML): void {
  const html = source.slice(0, maxLength)
  const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: true }, buildCallbacks(html, handler))
  tokenizer.write(html)
  tokenizer.end()
}

type Callbacks = ConstructorParameters<typeof Tokenizer>[1]

const ignore = (): void => undefined

/** What shows nothing. */
const ignoringCallbacks = { oncdata: ignore, ondeclaration: ignore, onprocessinginstruction: ignore, onend: ignore }

/** An attribute of which only a part was read so far. */
interface OpenAttribute {
  readonly name: string
  readonly nameEnd: number
  value: string
  hasValue: boolean
}

function buildCallbacks(html: string, handler: HtmlHandler): Callbacks {
  let name = ''
  let tagStart = 0
  let attributes: HtmlAttribute[] = []
  let attribute: OpenAttribute = { name: '', nameEnd: 0, value: '', hasValue: false }
  const readName = (start: number, end: number): string =>
    html.slice(start, Math.min(end, start + MAX_NAME)).toLowerCase()
  const appendValue = (piece: string): void => {
    attribute.hasValue = true
    const room = MAX_VALUE - attribute.value.length
    if (room > 0) attribute.value += piece.slice(0, room)
  }
  const endTag = (at: number, selfClosing: boolean): void =>
    handler.onOpenTag({ name, attributes, selfClosing, start: tagStart, end: at + 1 })
  return {
    ...ignoringCallbacks,
    onopentagname(start, end) {
      name = readName(start, end)
      tagStart = start - 1
      attributes = []
    },
    onattribname(start, end) {
      attribute = { name: readName(start, end), nameEnd: end, value: '', hasValue: false }
    },
    onattribdata: (start, end) => appendValue(html.slice(start, Math.min(end, start + MAX_VALUE))),
    onattribentity: (code) => appendValue(String.fromCodePoint(code)),
    onattribend(_quote, end) {
      const { name, nameEnd, value, hasValue } = attribute
      const place = hasValue ? locateValue(html, nameEnd, end) : { start: 0, end: 0 }
      if (attributes.length < MAX_ATTRIBUTES) attributes.push({ name, value, ...place })
    },
    onopentagend: (at) => endTag(at, false),
    onselfclosingtag: (at) => endTag(at, true),
    onclosetag: (start, end) => handler.onCloseTag(readName(start, end)),
    ontext: (start, end) => handler.onText(html.slice(start, end), false),
    ontextentity: (code) => handler.onText(String.fromCodePoint(code), true),
    oncomment: () => handler.onComment?.(),
  }
}

/** `end`: after the closing quote, or after the last character of a value without quotes. */
function locateValue(html: string, nameEnd: number, end: number): Pick<HtmlAttribute, 'start' | 'end'> {
  let start = html.indexOf('=', nameEnd) + 1
  while (/\s/.test(html.charAt(start))) start += 1
  const isQuoted = /["']/.test(html.charAt(start))
  return isQuoted ? { start: start + 1, end: end - 1 } : { start, end }
}
