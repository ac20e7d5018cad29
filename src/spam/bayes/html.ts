/**
 * What a reader of an HTML part sees, and where its links lead, as the classifier wants it.
 *
 * One pass of a tokenizer, no tree: linear in its input, however deep or broken that is. Tags
 * inside a word vanish with the comments, so that a word cut by them is whole again; tags that
 * begin a line or a cell part words. What a style hides is left out, since it is there for
 * filters and not for readers. Where it is not plain how far the hiding goes, it ends: words
 * too many do less harm than a message whose words are all overlooked.
 *
 * Limits: the first 256 KB of HTML, 64 KB of visible text, 200 addresses of 1,000 characters.
 * Knows styles in the `style` attribute only; colour on its own colour counts as visible.
 */
import { Tokenizer } from 'htmlparser2'

const MAX_HTML = 262_144
const MAX_TEXT = 65_536
const MAX_URLS = 200
const MAX_VALUE = 1000

export interface VisibleHtml {
  readonly text: string
  /** Values of href, src, action and background, in their order. */
  readonly urls: readonly string[]
}

/** Tags that leave a word whole. */
const inlineTags = new Set(
  'a abbr acronym b big em font i ins mark s small span strike strong sub sup tt u wbr'.split(' '),
)
const unrenderedTags = new Set(['script', 'style', 'title', 'template'])
/** End where the next of their kind begins; a paragraph, where anything but words begins. */
const optionalEndTags = new Set(['p', 'li', 'td', 'th', 'tr', 'dt', 'dd', 'option'])
const urlAttributes = new Set(['href', 'src', 'action', 'background'])
/** Have no end tag, so nothing stands inside them. */
const voidElements = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
/** Also letters of a pixel or a point: nobody reads those. */
const hidingStyle =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*(?:0(?:\.0+)?[a-z%]{0,4}|1(?:px|pt|%))\s*(?:[;!]|$)/i

/** The element whose content nobody sees, and how many of each name are open in it. */
interface HiddenElement {
  readonly tag: string
  readonly openTags: Map<string, number>
}

class VisibleTextReader {
  readonly pieces: string[] = []
  readonly urls: string[] = []
  private length = 0
  private tag = ''
  private attribute = ''
  private value = ''
  private hidden: HiddenElement | null = null

  constructor(private readonly html: string) {}

  addText(piece: string): void {
    if (this.hidden !== null || this.length >= MAX_TEXT) return
    this.pieces.push(piece)
    this.length += piece.length
  }

  openTag(start: number, end: number): void {
    this.tag = this.readName(start, end)
    if (this.hidden !== null && !voidElements.has(this.tag)) this.openInHidden(this.hidden)
    if (unrenderedTags.has(this.tag)) this.beginHidden()
    this.separateWords()
  }

  private openInHidden({ tag, openTags }: HiddenElement): void {
    const ends = tag === 'p' ? !inlineTags.has(this.tag) : optionalEndTags.has(tag) && tag === this.tag
    if (ends) this.hidden = null
    else openTags.set(this.tag, (openTags.get(this.tag) ?? 0) + 1)
  }

  /** What was not opened inside is the hidden element itself, or one around it. */
  closeTag(start: number, end: number): void {
    this.tag = this.readName(start, end)
    const open = this.hidden?.openTags.get(this.tag) ?? 0
    if (open > 0) this.hidden?.openTags.set(this.tag, open - 1)
    else this.hidden = null
    this.separateWords()
  }

  /** `<tag/>`: only void elements end so, but a stray one must not hide all that follows. */
  selfCloseTag(): void {
    if (this.hidden?.tag === this.tag) this.hidden = null
  }

  beginAttribute(start: number, end: number): void {
    this.attribute = this.readName(start, end)
    this.value = ''
  }

  addValue(piece: string): void {
    if (this.value.length < MAX_VALUE) this.value += piece
  }

  endAttribute(): void {
    if (urlAttributes.has(this.attribute) && this.urls.length < MAX_URLS) {
      this.urls.push(this.value.slice(0, MAX_VALUE))
    } else if (this.attribute === 'style' && hidingStyle.test(this.value.slice(0, MAX_VALUE))) this.beginHidden()
  }

  private readName(start: number, end: number): string {
    return this.html.slice(start, Math.min(end, start + 20)).toLowerCase()
  }

  private separateWords(): void {
    if (!inlineTags.has(this.tag)) this.addText(' ')
  }

  private beginHidden(): void {
    if (this.hidden === null && !voidElements.has(this.tag)) this.hidden = { tag: this.tag, openTags: new Map() }
  }
}

const doNothing = (): void => undefined

export function readVisibleHtml(whole: string): VisibleHtml {
  const html = whole.slice(0, MAX_HTML)
  const reader = new VisibleTextReader(html)
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => reader.addText(html.slice(start, end)),
      ontextentity: (point) => reader.addText(String.fromCodePoint(point)),
      onopentagname: (start, end) => reader.openTag(start, end),
      onclosetag: (start, end) => reader.closeTag(start, end),
      onselfclosingtag: () => reader.selfCloseTag(),
      onattribname: (start, end) => reader.beginAttribute(start, end),
      onattribdata: (start, end) => reader.addValue(html.slice(start, Math.min(end, start + MAX_VALUE))),
      onattribentity: (point) => reader.addValue(String.fromCodePoint(point)),
      onattribend: () => reader.endAttribute(),
      onopentagend: doNothing,
      oncdata: doNothing,
      oncomment: doNothing,
      ondeclaration: doNothing,
      onprocessinginstruction: doNothing,
      onend: doNothing,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return { text: reader.pieces.join('').slice(0, MAX_TEXT), urls: reader.urls }
}
