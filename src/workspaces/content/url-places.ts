/**
 * Finds the part of a URL in which a variable of a template stands. Pure; one pass over the literal text, in linear time.
 *
 * In HTML, URLs are the values of the attributes in `urlAttributes`, also within comments, which Outlook may read. In
 * text they are `https://…` and the like, up to a blank, a quote or `<`. What begins with a variable is a URL whose
 * beginning is unknown: a later variable is in its path once a slash was seen, and in its query behind `?` or `&`. In text
 * such a beginning counts only with a query, `/path?name=`, so that `{{first}}/{{last}}` stays text.
 */
import type { UrlPart } from '../../base/mail/url-part.js'

/** The reader of one text, which is passed its literal pieces and its variables in their order. */
export interface UrlPlaces {
  readonly passLiteral: (text: string) => void
  /** Null: the value is not a part of a URL, or is its beginning. */
  readonly passVariable: () => UrlPart | null
}

/** A subject has no URLs. */
export const noUrlPlaces: UrlPlaces = { passLiteral: () => undefined, passVariable: () => null }

const urlAttributes: ReadonlySet<string> = new Set(
  'href src action formaction background poster cite data longdesc xlink:href'.split(' '),
)

/** Characters of the beginning of a URL in which its scheme and host are looked for: more than a host name may have. */
const MAX_HEAD = 300

/** `&#` begins a character reference of HTML, and no fragment. */
const queryStart = /\?|(?<!&)#/

/** A URL as far as it was passed. */
class UrlReader {
  private head = ''
  private part: UrlPart | null = null
  private beginsWithVariable = false

  passLiteral(text: string): void {
    if (this.part !== 'query' && queryStart.test(text)) this.part = 'query'
    if (this.part !== null || this.head.length >= MAX_HEAD) return
    this.head = (this.head + text).slice(0, MAX_HEAD)
    this.part = this.beginsWithVariable ? partAfterVariable(this.head) : partAfter(this.head)
  }

  passVariable(): UrlPart | null {
    if (this.head.trim() === '') this.beginsWithVariable = true
    return this.part
  }
}

/** Most are so, and need no more. */
const hasHost = /^https?:\/\/[^/]*\//
const schemeAndSlashes = /^\s*([a-z][a-z\d+.-]*:)?(\/\/)?/i

/** Null: the value that follows belongs to the scheme or the host, or is the whole. */
function partAfter(head: string): UrlPart | null {
  if (hasHost.test(head)) return 'path'
  const [start, scheme, slashes] = schemeAndSlashes.exec(head) ?? ['']
  if (head.includes('/', start.length)) return 'path'
  if (slashes !== undefined || head.trim() === '' || /^https?:$/i.test(scheme ?? '')) return null
  return 'path'
}

/** `://` is between a scheme and a host, and `:` between a host and a port. */
function partAfterVariable(head: string): UrlPart | null {
  const start = /^:?\/\//.exec(head)?.[0].length ?? 0
  if (head.includes('/', start)) return 'path'
  return head.includes('&') ? 'query' : null
}

/** Tags and attributes of a text, which take 10 ms: variables behind them count as outside of URLs. */
const MAX_STEPS = 100_000

type Quote = '"' | "'" | ''

/** Reads tags as far as their attributes need it. */
export class HtmlUrlPlaces implements UrlPlaces {
  private state: 'text' | 'tag' | 'value' = 'text'
  /** Around the value; empty: none. */
  private quote: Quote = ''
  /** It reads the value that the text stands in; null: that is no URL. */
  private url: UrlReader | null = null
  private stepsLeft = MAX_STEPS

  passLiteral(text: string): void {
    for (let at = 0; at < text.length && this.stepsLeft > 0; this.stepsLeft -= 1) {
      if (this.state === 'text') at = this.passText(text, at)
      else if (this.state === 'tag') at = this.passTag(text, at)
      else at = this.passValue(text, at)
    }
  }

  passVariable(): UrlPart | null {
    return this.state === 'value' && this.stepsLeft > 0 ? (this.url?.passVariable() ?? null) : null
  }

  private passText(text: string, from: number): number {
    const start = text.indexOf('<', from)
    if (start === -1) return text.length
    if (!isLetter(text.charCodeAt(start + 1))) return start + 1
    this.state = 'tag'
    return endOfWord(text, start + 1)
  }

  private passTag(text: string, from: number): number {
    const start = endOfBlanks(text, from, SLASH)
    if (text.charCodeAt(start) === TAG_END) {
      this.state = 'text'
      return start + 1
    }
    const nameEnd = endOfWord(text, start + 1)
    const sign = endOfBlanks(text, nameEnd)
    if (text.charCodeAt(sign) !== EQUALS) return nameEnd
    const valueStart = endOfBlanks(text, sign + 1)
    const first = text[valueStart]
    this.state = 'value'
    this.quote = first === '"' || first === "'" ? first : ''
    this.url = isUrlAttribute(text, start, nameEnd) ? new UrlReader() : null
    return valueStart + this.quote.length
  }

  private passValue(text: string, from: number): number {
    const end = this.quote === '' ? endOfBareValue(text, from) : indexOr(text, this.quote, from)
    this.url?.passLiteral(text.slice(from, end))
    if (end === text.length) return end
    this.state = 'tag'
    return end + this.quote.length
  }
}

const BLANK = 0x20
const SLASH = 0x2f
const EQUALS = 0x3d
const TAG_END = 0x3e
/** Characters of the longest name in `urlAttributes`. */
const MAX_NAME = 10

function isLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

/** The places of characters are found without regular expressions, which take ten times as long for short words. */
function endOfBlanks(text: string, from: number, alsoSkipped = BLANK): number {
  let at = from
  for (let code = text.charCodeAt(at); code <= BLANK || code === alsoSkipped; code = text.charCodeAt(at)) at += 1
  return at
}

/** Where the name of a tag or an attribute ends. */
function endOfWord(text: string, from: number): number {
  let at = from
  for (let code = text.charCodeAt(at); code > BLANK; code = text.charCodeAt(at)) {
    if (code === SLASH || code === TAG_END || code === EQUALS) break
    at += 1
  }
  return Math.min(at, text.length)
}

function endOfBareValue(text: string, from: number): number {
  let at = from
  for (let code = text.charCodeAt(at); code > BLANK && code !== TAG_END; code = text.charCodeAt(at)) at += 1
  return at
}

function isUrlAttribute(text: string, start: number, end: number): boolean {
  return end - start <= MAX_NAME && urlAttributes.has(text.slice(start, end).toLowerCase())
}

function indexOr(text: string, searched: string, from: number): number {
  const at = text.indexOf(searched, from)
  return at === -1 ? text.length : at
}

/** Blanks, what stands around URLs, and punctuation of scripts that write no blanks. */
const endOfUrl = /[\s<>"“”‘’«»\u3000-\u303f\uff00-\uffef]/
const urlStart = /(?:https?|ftp):\/\/|mailto:/i
/** Characters of a word in which a URL may begin. */
const MAX_WORD = 2_000

export class TextUrlPlaces implements UrlPlaces {
  private url: UrlReader | null = null
  /** What a word that begins with a variable has had of `/path?name=`; null: it begins otherwise. */
  private opened: '' | '/' | '?' | '?=' | null = null
  private isWordStart = true

  passLiteral(text: string): void {
    const end = text.search(endOfUrl)
    this.passWord(end === -1 ? text : text.slice(0, end))
    if (end === -1) return
    const tail = text.slice(Math.max(end, text.length - MAX_WORD))
    const word = tail.split(endOfUrl).at(-1) ?? ''
    this.url = null
    this.opened = null
    this.isWordStart = true
    this.passWord(word)
  }

  passVariable(): UrlPart | null {
    if (this.isWordStart) this.opened = ''
    this.isWordStart = false
    if (this.url !== null) return this.url.passVariable()
    return this.opened === '?=' ? 'query' : null
  }

  private passWord(word: string): void {
    if (word === '') return
    if (this.url !== null) this.url.passLiteral(word)
    else if (this.opened !== null) this.passOpened(word)
    else this.beginUrl(word)
    this.isWordStart = false
  }

  private passOpened(word: string): void {
    if (this.opened === '' && !/^[/?]/.test(word)) this.opened = null
    if (this.opened === null || this.opened === '?=') return
    const start = this.opened === '?' ? 0 : word.indexOf('?')
    if (start === -1) this.opened = '/'
    else this.opened = word.includes('=', start) ? '?=' : '?'
  }

  private beginUrl(word: string): void {
    const start = word.search(urlStart)
    if (start === -1) return
    this.url = new UrlReader()
    this.url.passLiteral(word.slice(start))
  }
}
