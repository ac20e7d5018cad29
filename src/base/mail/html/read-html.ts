/**
 * The one reader of HTML: a sequence of tags, texts and comments, with their places in the source.
 *
 * It makes one pass and builds no tree, so its time is linear however deep or broken the markup is.
 * Character references are decoded. A tag that the end of the input cuts off is dropped, as browsers do.
 * The content of unrendered elements is reported as text: a handler that wants none skips it.
 *
 * Limits: 256 KB of HTML, 200 attributes of a tag and 2,000 characters of a value unless the caller says
 * otherwise; 500 characters of a name. What exceeds a limit is left out.
 */
import { QuoteType, Tokenizer } from 'htmlparser2'

const MAX_HTML = 262_144
const MAX_ATTRIBUTES = 200
const MAX_VALUE = 2_000
const MAX_NAME = 500

export interface HtmlAttribute {
  /** Lower case. */
  readonly name: string
  readonly value: string
  /** `html.slice(start, end)` is the value as written, without its quotes; both 0 if it has no value. */
  readonly start: number
  readonly end: number
  /** Around the value as written, or empty if there is none. */
  readonly quote: '"' | "'" | ''
}

export interface HtmlTag {
  /** Lower case. */
  readonly name: string
  /** They are in their order. If several have one name, the first is valid (HTML section 13.2.5.33). */
  readonly attributes: readonly HtmlAttribute[]
  /** Written as `<tag/>`. */
  readonly selfClosing: boolean
  /** `html.slice(start, end)` is the tag as written. */
  readonly start: number
  readonly end: number
}

export interface HtmlHandler {
  /** If it is absent, the attributes of every tag are read. A tag whose attributes are not read has none. */
  readsAttributesOf?(name: string): boolean
  onOpenTag(tag: HtmlTag): void
  /** `name` is in lower case. `nameStart` is its place; the tag as written may begin with blanks before it. */
  onCloseTag(name: string, nameStart: number): void
  /** `isReference` says that it is one decoded character reference. `end` is its end, like that of a tag. */
  onText(text: string, isReference: boolean, end: number): void
  onComment?(): void
  /** A tag, comment, declaration or the like is complete; `end` is after its `>`. Called after the others. */
  onMarkupEnd?(end: number): void
}

export interface HtmlLimits {
  readonly maxLength?: number
  readonly maxAttributes?: number
  readonly maxValue?: number
}

export function readHtml(source: string, handler: HtmlHandler, limits: HtmlLimits = {}): void {
  const { maxLength = MAX_HTML, maxAttributes = MAX_ATTRIBUTES, maxValue = MAX_VALUE } = limits
  const html = source.slice(0, maxLength)
  const callbacks = buildCallbacks(html, handler, { maxAttributes, maxValue })
  // Where no reference can be, the tokenizer skips text by a search, six times as fast.
  const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: html.includes('&') }, callbacks)
  tokenizer.write(html)
  tokenizer.end()
}

type Callbacks = ConstructorParameters<typeof Tokenizer>[1]

/** An attribute that was read only in part so far. */
interface OpenAttribute {
  readonly name: string
  readonly nameEnd: number
  value: string
  /** The place of the first character of the value, if that is no character reference. */
  start: number | null
  hasValue: boolean
}

/** It copies field by field: a spread of so many takes V8 as long as a short text. */
function buildCallbacks(
  html: string,
  handler: HtmlHandler,
  limits: Required<Pick<HtmlLimits, 'maxAttributes' | 'maxValue'>>,
): Callbacks {
  const tags = tagCallbacks(html, handler, limits)
  const others = otherCallbacks(html, handler)
  return {
    onopentagname: tags.onopentagname,
    onopentagend: tags.onopentagend,
    onselfclosingtag: tags.onselfclosingtag,
    onattribname: tags.onattribname,
    onattribdata: tags.onattribdata,
    onattribentity: tags.onattribentity,
    onattribend: tags.onattribend,
    onclosetag: others.onclosetag,
    ontext: others.ontext,
    ontextentity: others.ontextentity,
    oncomment: others.oncomment,
    oncdata: others.oncdata,
    ondeclaration: others.ondeclaration,
    onprocessinginstruction: others.onprocessinginstruction,
    onend: others.onend,
  }
}

type TagCallback = Extract<keyof Callbacks, `onattrib${string}` | `onopen${string}` | 'onselfclosingtag'>

function tagCallbacks(
  html: string,
  handler: HtmlHandler,
  { maxAttributes, maxValue }: Required<Pick<HtmlLimits, 'maxAttributes' | 'maxValue'>>,
): Pick<Callbacks, TagCallback> {
  let name = ''
  let tagStart = 0
  let reads = true
  let attributes: HtmlAttribute[] = []
  let attribute: OpenAttribute = { name: '', nameEnd: 0, value: '', start: null, hasValue: false }
  const endTag = (at: number, selfClosing: boolean): void => {
    handler.onOpenTag({ name, attributes, selfClosing, start: tagStart, end: at + 1 })
    handler.onMarkupEnd?.(at + 1)
  }
  const endAttribute = (quote: QuoteType, end: number): void => {
    if (reads && attributes.length < maxAttributes) attributes.push(completeAttribute(html, attribute, end, quote))
  }
  return {
    onopentagname(start, end) {
      name = readName(html, start, end)
      tagStart = start - 1
      reads = handler.readsAttributesOf?.(name) ?? true
      attributes = []
    },
    onattribname(start, end) {
      if (reads) attribute = { name: readName(html, start, end), nameEnd: end, value: '', start: null, hasValue: false }
    },
    onattribdata(start, end) {
      if (!reads) return
      if (!attribute.hasValue) attribute.start = start
      appendValue(attribute, html.slice(start, Math.min(end, start + maxValue)), maxValue)
    },
    onattribentity: (code) => reads && appendValue(attribute, String.fromCodePoint(code), maxValue),
    onattribend: endAttribute,
    onopentagend: (at) => endTag(at, false),
    onselfclosingtag: (at) => endTag(at, true),
  }
}

function appendValue(attribute: OpenAttribute, piece: string, maxValue: number): void {
  attribute.hasValue = true
  const room = maxValue - attribute.value.length
  if (room > 0) attribute.value += piece.slice(0, room)
}

function otherCallbacks(html: string, handler: HtmlHandler): Omit<Callbacks, TagCallback> {
  const endMarkup = (_start: number, at: number): void => handler.onMarkupEnd?.(at + 1)
  return {
    onclosetag(start, end) {
      handler.onCloseTag(readName(html, start, end), start)
      const close = html.indexOf('>', end)
      if (close !== -1) handler.onMarkupEnd?.(close + 1)
    },
    ontext: (start, end) => handler.onText(html.slice(start, end), false, end),
    ontextentity: (code, end) => handler.onText(String.fromCodePoint(code), true, end),
    oncomment(_start, at, endOffset) {
      handler.onComment?.()
      // The end of the input ends a comment too, without its `-->`.
      if (endOffset > 0 || at < html.length) handler.onMarkupEnd?.(at + 1)
    },
    oncdata(_start, at, endOffset) {
      if (endOffset > 0) handler.onMarkupEnd?.(at + 1)
    },
    ondeclaration: endMarkup,
    onprocessinginstruction: endMarkup,
    onend: () => undefined,
  }
}

function readName(html: string, start: number, end: number): string {
  return html.slice(start, Math.min(end, start + MAX_NAME)).toLowerCase()
}

/** `end` is the offset after the closing quote, or after the last character of a value without quotes. */
function completeAttribute(html: string, attribute: OpenAttribute, end: number, quoteType: QuoteType): HtmlAttribute {
  const { name, value } = attribute
  if (!attribute.hasValue) return { name, value, start: 0, end: 0, quote: '' }
  const start = attribute.start ?? findValue(html, attribute.nameEnd, quoteType)
  if (quoteType === QuoteType.Unquoted) return { name, value, start, end, quote: '' }
  return { name, value, start, end: end - 1, quote: quoteType === QuoteType.Double ? '"' : "'" }
}

function findValue(html: string, nameEnd: number, quoteType: QuoteType): number {
  let start = html.indexOf('=', nameEnd) + 1
  while (/[\t\n\f\r ]/.test(html.charAt(start))) start += 1
  return quoteType === QuoteType.Unquoted ? start : start + 1
}
