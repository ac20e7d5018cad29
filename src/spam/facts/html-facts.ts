/**
 * What rules want to know of a message's HTML, gathered in one pass: the text that people see,
 * the text that they do not, links with their words, and counts.
 *
 * A style holds until its element ends. Only elements that change the look are kept, and an end
 * tag is held against the innermost of them alone: a page that closes in the wrong order is read
 * a little wrong, and none is read slowly.
 *
 * Limits: those of `html-scan`; 64,000 characters of visible text, 500 links, 200 kept elements.
 */
import { isCamouflaged, type Look, lookOf, plainLook } from './css-look.js'
import { type HtmlReader, scanHtml } from './html-scan.js'

const MAX_TEXT = 64_000
const MAX_LINKS = 500
const MAX_LINK_TEXT = 300
const MAX_KEPT = 200

export interface HtmlLink {
  readonly href: string
  /** What is shown as the link. */
  readonly text: string
}

export interface HtmlFacts {
  readonly visible: string
  /** Characters that nobody sees: hidden, tiny, or in the colour of the ground. */
  readonly hidden: number
  readonly tiny: number
  readonly camouflaged: number
  readonly links: readonly HtmlLink[]
  /** Addresses of pictures. */
  readonly images: readonly string[]
  /** Pictures, also those that the message brings. */
  readonly pictures: number
  /** Where forms send what is filled in. */
  readonly actions: readonly string[]
  /** How often each tag opens. */
  readonly tags: ReadonlyMap<string, number>
  /** Comments that stand between two letters. */
  readonly broken: number
  /** ASCII letters and digits written as character references. */
  readonly encodedLetters: number
  /** Attributes that run code. */
  readonly handlers: number
  /** Fields that ask for a password. */
  readonly passwords: number
  /** It sends its reader elsewhere by itself. */
  readonly refresh: boolean
  /** Coloured or oversized type: elements that ask for it. */
  readonly loud: number
}

interface Frame {
  readonly name: string
  readonly look: Look
  /** Elements of the same name that are open inside. */
  nested: number
}

const voids = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'wbr'])
const blocks = new Set([
  'p',
  'br',
  'div',
  'td',
  'th',
  'tr',
  'table',
  'li',
  'ul',
  'ol',
  'h1',
  'h2',
  'h3',
  'hr',
  'center',
])

type Counts = { -readonly [Name in keyof HtmlFacts]: HtmlFacts[Name] } & {
  readonly links: HtmlLink[]
  readonly images: string[]
  readonly actions: string[]
  readonly tags: Map<string, number>
}

function noCounts(): Counts {
  return {
    visible: '',
    hidden: 0,
    tiny: 0,
    camouflaged: 0,
    links: [],
    images: [],
    pictures: 0,
    actions: [],
    tags: new Map(),
    broken: 0,
    encodedLetters: 0,
    handlers: 0,
    passwords: 0,
    refresh: false,
    loud: 0,
  }
}

export function htmlFacts(html: string): HtmlFacts {
  const gatherer = new Gatherer()
  scanHtml(html, gatherer)
  gatherer.endLink()
  return gatherer.counts
}

class Gatherer implements HtmlReader {
  readonly counts = noCounts()
  private readonly frames: Frame[] = []
  private link: { href: string; text: string } | null = null
  private lastIsLetter = false
  /** A letter, then something that shows nothing. */
  private split = false

  open(name: string, attributes: ReadonlyMap<string, string>): void {
    countTag(this.counts, name, attributes)
    if (blocks.has(name)) addVisible(this.counts, ' ')
    this.lastIsLetter = false
    if (name === 'a') this.beginLink(attributes.get('href'))
    if (name === 'area') this.addArea(attributes.get('href'))
    keep(this.frames, name, lookOf(this.look(), attributes), this.look())
  }

  close(name: string): void {
    if (name === 'a') this.endLink()
    if (blocks.has(name)) addVisible(this.counts, ' ')
    release(this.frames, name)
  }

  text(text: string, encoded: boolean): void {
    if (encoded && /^[a-z0-9]$/i.test(text)) this.counts.encodedLetters += 1
    if (this.split && /^\p{L}/u.test(text)) this.counts.broken += 1
    this.split = false
    this.lastIsLetter = /\p{L}$/u.test(text.slice(-2))
    addText(this.counts, this.look(), text)
    if (this.link !== null && this.link.text.length < MAX_LINK_TEXT) this.link.text += text.slice(0, MAX_LINK_TEXT)
  }

  comment(): void {
    this.split = this.lastIsLetter
  }

  /** A link ends where the next begins, and with the page. */
  endLink(): void {
    if (this.link !== null && this.counts.links.length < MAX_LINKS) this.counts.links.push(this.link)
    this.link = null
  }

  /** A place of a picture that is a link. */
  private addArea(href: string | undefined): void {
    if (href !== undefined && this.counts.links.length < MAX_LINKS) this.counts.links.push({ href, text: '' })
  }

  private beginLink(href: string | undefined): void {
    this.endLink()
    if (href !== undefined) this.link = { href, text: '' }
  }

  private look(): Look {
    return this.frames.at(-1)?.look ?? plainLook
  }
}

function countTag(counts: Counts, name: string, attributes: ReadonlyMap<string, string>): void {
  if (counts.tags.size < MAX_LINKS) counts.tags.set(name, (counts.tags.get(name) ?? 0) + 1)
  if (name === 'img') addPicture(counts, attributes.get('src') ?? '')
  if (name === 'form' && counts.actions.length < MAX_LINKS) counts.actions.push(attributes.get('action') ?? '')
  if (name === 'input' && attributes.get('type')?.toLowerCase() === 'password') counts.passwords += 1
  if (name === 'meta' && attributes.get('http-equiv')?.toLowerCase() === 'refresh') counts.refresh = true
  if (name === 'font' && (attributes.has('color') || /^(?:\+[1-9]|[4-9])/.test(attributes.get('size') ?? ''))) {
    counts.loud += 1
  }
  for (const attribute of attributes.keys()) if (/^on[a-z]{3,}$/.test(attribute)) counts.handlers += 1
}

function addPicture(counts: Counts, source: string): void {
  counts.pictures += 1
  if (counts.images.length < MAX_LINKS) counts.images.push(source)
}

function keep(frames: Frame[], name: string, look: Look, outer: Look): void {
  if (voids.has(name)) return
  const top = frames.at(-1)
  const plain = top?.name === name ? sameLook(look, outer) : look === outer || sameLook(look, outer)
  if (!plain && frames.length < MAX_KEPT) frames.push({ name, look, nested: 0 })
  else if (top?.name === name) top.nested += 1
}

function sameLook(one: Look, other: Look): boolean {
  return (
    one.hidden === other.hidden &&
    one.tiny === other.tiny &&
    one.color === other.color &&
    one.background === other.background
  )
}

function release(frames: Frame[], name: string): void {
  const top = frames.at(-1)
  if (top?.name !== name) return
  if (top.nested > 0) top.nested -= 1
  else frames.pop()
}

function addText(counts: Counts, look: Look, text: string): void {
  const shown = text.trim().length
  if (look.hidden) counts.hidden += shown
  else if (look.tiny) counts.tiny += shown
  else if (isCamouflaged(look)) counts.camouflaged += shown
  else addVisible(counts, text)
}

function addVisible(counts: Counts, text: string): void {
  if (counts.visible.length < MAX_TEXT) counts.visible += text.slice(0, MAX_TEXT)
}
