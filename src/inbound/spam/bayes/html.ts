/**
 * The text that a person sees in an HTML part, and the addresses of its links, for the classifier.
 *
 * Inline tags and comments vanish, so a word that they split is complete again; block and cell tags separate
 * words. Text that a style hides is left out, since it is there for filters and not for people. Where the end of a
 * hidden element is unclear, hiding ends early: a few words too many do less harm than a message whose words are
 * all missed.
 *
 * Limits: those of `mail/html/read-html`, 64 KB of visible text, 200 addresses of 1,000 characters. Styles are
 * read from the `style` attribute only; text in the colour of its background counts as visible.
 */
import { inlineElements, unrenderedElements, voidElements } from '../../../base/mail/html/elements.js'
import { type HtmlAttribute, type HtmlHandler, type HtmlTag, readHtml } from '../../../base/mail/html/read-html.js'

const MAX_TEXT = 65_536
const MAX_URLS = 200
const MAX_VALUE = 1000

interface VisibleHtml {
  readonly text: string
  /** Values of href, src, action and background, in document order. */
  readonly urls: readonly string[]
}

/** Elements that end where the next of their kind begins; a paragraph ends where any block element begins. */
const optionalEndTags = new Set(['p', 'li', 'td', 'th', 'tr', 'dt', 'dd', 'option'])
const urlAttributes = new Set(['href', 'src', 'action', 'background'])
/** It also matches text of a pixel or a point, which is unreadable. */
const hidingStyle =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*(?:0(?:\.0+)?[a-z%]{0,4}|1(?:px|pt|%))\s*(?:[;!]|$)/i

/** The hidden element, and how many elements of each name are open in it. */
interface HiddenElement {
  readonly tag: string
  readonly openTags: Map<string, number>
}

class VisibleTextReader implements HtmlHandler {
  readonly pieces: string[] = []
  readonly urls: string[] = []
  private length = 0
  private hidden: HiddenElement | null = null

  onText(piece: string): void {
    if (this.hidden !== null || this.length >= MAX_TEXT) return
    this.pieces.push(piece)
    this.length += piece.length
  }

  onOpenTag({ name, attributes, selfClosing }: HtmlTag): void {
    if (this.hidden !== null && !voidElements.has(name)) this.openInHidden(name, this.hidden)
    if (unrenderedElements.has(name)) this.beginHidden(name)
    this.separateWords(name)
    for (const attribute of attributes) this.readAttribute(name, attribute)
    // Only void elements may be self-closing, but a stray `<tag/>` must not hide everything after it.
    if (selfClosing && this.hidden?.tag === name) this.hidden = null
  }

  /** An end tag of an element that was not opened inside ends the hidden element, or one around it. */
  onCloseTag(name: string): void {
    const open = this.hidden?.openTags.get(name) ?? 0
    if (open > 0) this.hidden?.openTags.set(name, open - 1)
    else this.hidden = null
    this.separateWords(name)
  }

  private openInHidden(name: string, { tag, openTags }: HiddenElement): void {
    const ends = tag === 'p' ? !inlineElements.has(name) : optionalEndTags.has(tag) && tag === name
    if (ends) this.hidden = null
    else openTags.set(name, (openTags.get(name) ?? 0) + 1)
  }

  private readAttribute(tag: string, { name, value }: HtmlAttribute): void {
    if (urlAttributes.has(name)) {
      if (this.urls.length < MAX_URLS) this.urls.push(value.slice(0, MAX_VALUE))
    } else if (name === 'style' && hidingStyle.test(value.slice(0, MAX_VALUE))) this.beginHidden(tag)
  }

  private separateWords(tag: string): void {
    if (!inlineElements.has(tag)) this.onText(' ')
  }

  private beginHidden(tag: string): void {
    if (this.hidden === null && !voidElements.has(tag)) this.hidden = { tag, openTags: new Map() }
  }
}

export function readVisibleHtml(html: string): VisibleHtml {
  const reader = new VisibleTextReader()
  readHtml(html, reader)
  return { text: reader.pieces.join('').slice(0, MAX_TEXT), urls: reader.urls }
}
