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
const MAX_ADDRESSES = 200
const MAX_VALUE = 1000

export interface ReadableHtml {
  readonly text: string
  /** Values of href, src, action and background, in their order. */
  readonly addresses: readonly string[]
}

/** Tags that leave a word whole. */
const inline = new Set('a abbr acronym b big em font i ins mark s small span strike strong sub sup tt u wbr'.split(' '))
const unread = new Set(['script', 'style', 'title', 'template'])
/** End where the next of their kind begins; a paragraph, where anything but words begins. */
const endless = new Set(['p', 'li', 'td', 'th', 'tr', 'dt', 'dd', 'option'])
const addressed = new Set(['href', 'src', 'action', 'background'])
/** Have no end tag, so nothing stands inside them. */
const voids = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
/** Also letters of a pixel or a point: nobody reads those. */
const hiding =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*(?:0(?:\.0+)?[a-z%]{0,4}|1(?:px|pt|%))\s*(?:[;!]|$)/i

/** The element whose content nobody sees, and how many of each name are open in it. */
interface Hidden {
  readonly tag: string
  readonly inside: Map<string, number>
}

class Reading {
  readonly pieces: string[] = []
  readonly addresses: string[] = []
  private length = 0
  private tag = ''
  private attribute = ''
  private value = ''
  private hidden: Hidden | null = null

  constructor(private readonly html: string) {}

  text(piece: string): void {
    if (this.hidden !== null || this.length >= MAX_TEXT) return
    this.pieces.push(piece)
    this.length += piece.length
  }

  open(start: number, end: number): void {
    this.tag = this.name(start, end)
    if (this.hidden !== null && !voids.has(this.tag)) this.openInside(this.hidden)
    if (unread.has(this.tag)) this.hide()
    this.part()
  }

  private openInside({ tag, inside }: Hidden): void {
    const ends = tag === 'p' ? !inline.has(this.tag) : endless.has(tag) && tag === this.tag
    if (ends) this.hidden = null
    else inside.set(this.tag, (inside.get(this.tag) ?? 0) + 1)
  }

  /** What was not opened inside is the hidden element itself, or one around it. */
  close(start: number, end: number): void {
    this.tag = this.name(start, end)
    const open = this.hidden?.inside.get(this.tag) ?? 0
    if (open > 0) this.hidden?.inside.set(this.tag, open - 1)
    else this.hidden = null
    this.part()
  }

  /** `<tag/>`: only void elements end so, but a stray one must not hide all that follows. */
  closeItself(): void {
    if (this.hidden?.tag === this.tag) this.hidden = null
  }

  beginAttribute(start: number, end: number): void {
    this.attribute = this.name(start, end)
    this.value = ''
  }

  addValue(piece: string): void {
    if (this.value.length < MAX_VALUE) this.value += piece
  }

  endAttribute(): void {
    if (addressed.has(this.attribute) && this.addresses.length < MAX_ADDRESSES) {
      this.addresses.push(this.value.slice(0, MAX_VALUE))
    } else if (this.attribute === 'style' && hiding.test(this.value.slice(0, MAX_VALUE))) this.hide()
  }

  private name(start: number, end: number): string {
    return this.html.slice(start, Math.min(end, start + 20)).toLowerCase()
  }

  private part(): void {
    if (!inline.has(this.tag)) this.text(' ')
  }

  private hide(): void {
    if (this.hidden === null && !voids.has(this.tag)) this.hidden = { tag: this.tag, inside: new Map() }
  }
}

const nothing = (): void => undefined

export function readableHtml(whole: string): ReadableHtml {
  const html = whole.slice(0, MAX_HTML)
  const reading = new Reading(html)
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => reading.text(html.slice(start, end)),
      ontextentity: (point) => reading.text(String.fromCodePoint(point)),
      onopentagname: (start, end) => reading.open(start, end),
      onclosetag: (start, end) => reading.close(start, end),
      onselfclosingtag: () => reading.closeItself(),
      onattribname: (start, end) => reading.beginAttribute(start, end),
      onattribdata: (start, end) => reading.addValue(html.slice(start, Math.min(end, start + MAX_VALUE))),
      onattribentity: (point) => reading.addValue(String.fromCodePoint(point)),
      onattribend: () => reading.endAttribute(),
      onopentagend: nothing,
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onprocessinginstruction: nothing,
      onend: nothing,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return { text: reading.pieces.join('').slice(0, MAX_TEXT), addresses: reading.addresses }
}
