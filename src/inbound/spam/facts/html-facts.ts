/**
 * Facts about a message's HTML for the rules, gathered in one pass: visible text, hidden text, links with their
 * words, and counts.
 *
 * A style applies until its element ends. Only elements that change the style are stored, and an end tag is
 * compared with the innermost of them alone: a page with wrong nesting is read slightly wrong, and no page is read
 * slowly.
 *
 * Limits: those of `mail/html/read-html`; 64,000 characters of visible text, 500 links, 200 stored elements.
 */
import { blockElements, cellElements, unrenderedElements, voidElements } from '../../../base/mail/html/elements.js'
import { type HtmlAttribute, type HtmlHandler, type HtmlTag, readHtml } from '../../../base/mail/html/read-html.js'
import { type ComputedStyle, computeStyle, initialStyle, isCamouflaged } from './computed-style.js'

const MAX_TEXT = 64_000
const MAX_LINKS = 500
const MAX_LINK_TEXT = 300
const MAX_FRAMES = 200

export interface HtmlLink {
  readonly href: string
  /** The text shown as the link. */
  readonly text: string
}

export interface HtmlFacts {
  readonly visibleText: string
  /** Invisible characters: hidden, tiny, or in the colour of their background. */
  readonly hiddenCharacters: number
  readonly tinyCharacters: number
  readonly camouflagedCharacters: number
  readonly links: readonly HtmlLink[]
  /** Addresses of pictures, in document order. */
  readonly images: readonly string[]
  /** All pictures, including attached ones. */
  readonly imageCount: number
  /** Targets of forms. */
  readonly actions: readonly string[]
  /** How often each tag opens. */
  readonly tags: ReadonlyMap<string, number>
  /** Comments between two letters. */
  readonly brokenWords: number
  /** ASCII letters and digits written as character references. */
  readonly encodedLetters: number
  /** Event handler attributes. */
  readonly eventHandlers: number
  /** Password fields. */
  readonly passwordInputs: number
  /** The page redirects by itself. */
  readonly hasRefresh: boolean
  /** Elements that ask for coloured or oversized type. */
  readonly loudElements: number
}

interface Frame {
  readonly name: string
  readonly style: ComputedStyle
  /** Elements of the same name that are open inside. */
  nested: number
}

type MutableFacts = { -readonly [Name in keyof HtmlFacts]: HtmlFacts[Name] } & {
  readonly links: HtmlLink[]
  readonly images: string[]
  readonly actions: string[]
  readonly tags: Map<string, number>
}

function createEmptyFacts(): MutableFacts {
  return {
    visibleText: '',
    hiddenCharacters: 0,
    tinyCharacters: 0,
    camouflagedCharacters: 0,
    links: [],
    images: [],
    imageCount: 0,
    actions: [],
    tags: new Map(),
    brokenWords: 0,
    encodedLetters: 0,
    eventHandlers: 0,
    passwordInputs: 0,
    hasRefresh: false,
    loudElements: 0,
  }
}

export function collectHtmlFacts(html: string): HtmlFacts {
  const collector = new HtmlFactsCollector()
  readHtml(html, collector)
  collector.endLink()
  return collector.facts
}

class HtmlFactsCollector implements HtmlHandler {
  readonly facts = createEmptyFacts()
  private readonly frames: Frame[] = []
  private link: { href: string; text: string } | null = null
  private lastIsLetter = false
  /** A letter was followed by something invisible. */
  private isWordInterrupted = false
  /** The unrendered element that is open, or empty if there is none. */
  private unrendered = ''

  onOpenTag({ name, attributes: attributeList }: HtmlTag): void {
    const attributes = toAttributeMap(attributeList)
    if (unrenderedElements.has(name)) this.unrendered = name
    countTag(this.facts, name, attributes)
    this.separateWords(name)
    this.lastIsLetter = false
    if (name === 'a') this.beginLink(attributes.get('href'))
    if (name === 'area') this.addArea(attributes.get('href'))
    pushFrame(this.frames, name, computeStyle(this.currentStyle(), attributes), this.currentStyle())
  }

  onCloseTag(name: string): void {
    if (name === this.unrendered) this.unrendered = ''
    if (name === 'a') this.endLink()
    this.separateWords(name)
    popFrame(this.frames, name)
  }

  onText(text: string, isReference: boolean): void {
    if (this.unrendered !== '') return
    if (isReference && /^[a-z0-9]$/i.test(text)) this.facts.encodedLetters += 1
    if (this.isWordInterrupted && /^\p{L}/u.test(text)) this.facts.brokenWords += 1
    this.isWordInterrupted = false
    this.lastIsLetter = /\p{L}$/u.test(text.slice(-2))
    classifyText(this.facts, this.currentStyle(), text)
    if (this.link !== null && this.link.text.length < MAX_LINK_TEXT) this.link.text += text.slice(0, MAX_LINK_TEXT)
  }

  onComment(): void {
    this.isWordInterrupted = this.lastIsLetter
  }

  /** A link ends where the next begins, and at the end of the page. */
  endLink(): void {
    if (this.link !== null && this.facts.links.length < MAX_LINKS) this.facts.links.push(this.link)
    this.link = null
  }

  /** A clickable area of a picture. */
  private addArea(href: string | undefined): void {
    if (href !== undefined && this.facts.links.length < MAX_LINKS) this.facts.links.push({ href, text: '' })
  }

  private beginLink(href: string | undefined): void {
    this.endLink()
    if (href !== undefined) this.link = { href, text: '' }
  }

  private separateWords(name: string): void {
    if (blockElements.has(name) || cellElements.has(name)) addVisible(this.facts, ' ')
  }

  private currentStyle(): ComputedStyle {
    return this.frames.at(-1)?.style ?? initialStyle
  }
}

function toAttributeMap(attributes: readonly HtmlAttribute[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const { name, value } of attributes) if (!values.has(name)) values.set(name, value)
  return values
}

function countTag(counts: MutableFacts, name: string, attributes: ReadonlyMap<string, string>): void {
  if (counts.tags.size < MAX_LINKS) counts.tags.set(name, (counts.tags.get(name) ?? 0) + 1)
  if (name === 'img') addImage(counts, attributes.get('src') ?? '')
  if (name === 'form' && counts.actions.length < MAX_LINKS) counts.actions.push(attributes.get('action') ?? '')
  if (name === 'input' && attributes.get('type')?.toLowerCase() === 'password') counts.passwordInputs += 1
  if (name === 'meta' && attributes.get('http-equiv')?.toLowerCase() === 'refresh') counts.hasRefresh = true
  if (name === 'font' && (attributes.has('color') || /^(?:\+[1-9]|[4-9])/.test(attributes.get('size') ?? ''))) {
    counts.loudElements += 1
  }
  for (const attribute of attributes.keys()) if (/^on[a-z]{3,}$/.test(attribute)) counts.eventHandlers += 1
}

function addImage(counts: MutableFacts, source: string): void {
  counts.imageCount += 1
  if (counts.images.length < MAX_LINKS) counts.images.push(source)
}

function pushFrame(frames: Frame[], name: string, style: ComputedStyle, outer: ComputedStyle): void {
  if (voidElements.has(name)) return
  const top = frames.at(-1)
  const plain = top?.name === name ? isSameStyle(style, outer) : style === outer || isSameStyle(style, outer)
  if (!plain && frames.length < MAX_FRAMES) frames.push({ name, style, nested: 0 })
  else if (top?.name === name) top.nested += 1
}

function isSameStyle(one: ComputedStyle, other: ComputedStyle): boolean {
  return (
    one.hidden === other.hidden &&
    one.tiny === other.tiny &&
    one.color === other.color &&
    one.background === other.background
  )
}

function popFrame(frames: Frame[], name: string): void {
  const top = frames.at(-1)
  if (top?.name !== name) return
  if (top.nested > 0) top.nested -= 1
  else frames.pop()
}

function classifyText(counts: MutableFacts, look: ComputedStyle, text: string): void {
  const shown = text.trim().length
  if (look.hidden) counts.hiddenCharacters += shown
  else if (look.tiny) counts.tinyCharacters += shown
  else if (isCamouflaged(look)) counts.camouflagedCharacters += shown
  else addVisible(counts, text)
}

function addVisible(counts: MutableFacts, text: string): void {
  if (counts.visibleText.length < MAX_TEXT) counts.visibleText += text.slice(0, MAX_TEXT)
}
