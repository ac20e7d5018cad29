/**
 * Finds the part of a URL that contains a variable of a template. Pure. It makes one pass over the literal text, in
 * linear time.
 *
 * In HTML, URLs are the values of the attributes in `urlAttributes`. Those within comments count too, because
 * Outlook may read them. In text, URLs are `https://…` and the like, up to a blank, a quote or `<`. A URL that
 * begins with a variable has an unknown beginning: a later variable is in its path after a slash, and in its query
 * after `?` or `&`. In text such a beginning counts only with a query, `/path?name=`, so that `{{first}}/{{last}}`
 * stays text.
 */
import type { UrlPart } from '../../base/mail/url-part.js'

/** Reads one text: its literal pieces and its variables, in their order. */
export interface UrlPlaces {
  readonly passLiteral: (text: string) => void
  /** Null means that the value is not a part of a URL, or that it is the beginning of one. */
  readonly passVariable: () => UrlPart | null
}

/** A subject has no URLs. */
export const noUrlPlaces: UrlPlaces = { passLiteral: () => undefined, passVariable: () => null }

const urlAttributes: ReadonlySet<string> = new Set(
  'href src action formaction background poster cite data longdesc xlink:href'.split(' '),
)

/** Characters of the beginning of a URL in which we look for its scheme and host. A host name has fewer. */
const MAX_HEAD = 300

/** `&#` begins a character reference of HTML, not a fragment. */
const queryStart = /\?|(?<!&)#/

/** A URL as far as it was read. */
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

/** Most URLs have a host, and need no more checks. */
const hasHost = /^https?:\/\/[^/]*\//
const schemeAndSlashes = /^\s*([a-z][a-z\d+.-]*:)?(\/\/)?/i

/** Null means that the value that follows belongs to the scheme or the host, or is the whole URL. */
function partAfter(head: string): UrlPart | null {
  if (hasHost.test(head)) return 'path'
  const [start, scheme, slashes] = schemeAndSlashes.exec(head) ?? ['']
  if (head.includes('/', start.length)) return 'path'
  if (slashes !== undefined || head.trim() === '' || /^https?:$/i.test(scheme ?? '')) return null
  return 'path'
}

/** `://` separates a scheme and a host, and `:` a host and a port. */
function partAfterVariable(head: string): UrlPart | null {
  const start = /^:?\/\//.exec(head)?.[0].length ?? 0
  if (head.includes('/', start)) return 'path'
  return head.includes('&') ? 'query' : null
}

/** Tags and attributes of a text, which take 10 ms. Variables after them count as outside of URLs. */
const MAX_STEPS = 100_000

type Quote = '"' | "'" | ''

/** Reads tags as far as necessary for their attributes. */
export class HtmlUrlPlaces implements UrlPlaces {
  private state: 'text' | 'tag' | 'value' = 'text'
  /** The quote around the value. It is empty if there is none. */
  private quote: Quote = ''
  /** Reads the value that contains the text. Null means that this value is not a URL. */
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

/** Finds the places of characters without regular expressions, which take ten times as long for short words. */
function endOfBlanks(text: string, from: number, alsoSkipped = BLANK): number {
  let at = from
  for (let code = text.charCodeAt(at); code <= BLANK || code === alsoSkipped; code = text.charCodeAt(at)) at += 1
  return at
}

/** The end of the name of a tag or an attribute. */
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

/** Blanks, the characters around URLs, and punctuation of scripts without blanks. */
const endOfUrl = /[\s<>"“”‘’«»\u3000-\u303f\uff00-\uffef]/
const urlStart = /(?:https?|ftp):\/\/|mailto:/i
/** Characters of a word in which a URL may begin. */
const MAX_WORD = 2_000

export class TextUrlPlaces implements UrlPlaces {
  private url: UrlReader | null = null
  /**
   * The part of `/path?name=` that a word which begins with a variable has shown so far. It is null if the word
   * begins otherwise.
   */
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
