/**
 * Rewrites the links of an HTML body to tracked ones and adds the pixel, in one pass over its tokens. Every other
 * character stays.
 *
 * A link is the first `href` of an `a` or `area`. Text in comments (including conditional comments for Outlook) and in
 * elements that contain no markup has no links. The pixel stands before the last `</body>`, else at the end, but never
 * within a comment, tag or element that the end cuts off.
 *
 * Limits: 1,000 attributes of a tag and 8 KB of an href. What exceeds them stays.
 */
import { type HtmlHandler, type HtmlLimits, type HtmlTag, readHtml } from '../../base/mail/html/read-html.js'

/** The most characters of a decoded value. */
const MAX_HREF = 8_192

/** The replacement of the URL of a link. */
export interface TrackedLink {
  readonly id: string
  /** The href, escaped for an attribute in any quotes. */
  readonly href: string
}

interface Rewriting {
  /** Complete markup. Null if there is no pixel. */
  readonly pixel: string | null
  /** `href` is decoded. Returns null if it stays. */
  readonly trackLink: (href: string) => TrackedLink | null
}

interface RewrittenHtml {
  readonly html: string
  /** The edits in their order: the id of the link, a blank, and the replaced value, as written with its quotes. */
  readonly edits: readonly string[]
}

/** Elements whose content is text, or nothing, for browsers (HTML sections 13.1.2 and 13.2.6.4.7). */
const rawElements: ReadonlySet<string> = new Set(
  'script style title textarea xmp iframe noembed noframes noscript plaintext'.split(' '),
)

/**
 * An `<img>` within these elements ends them (HTML section 13.2.6.5). `<style/>` is complete in them and not elsewhere,
 * so what follows it stays as it is.
 */
const foreignElements: ReadonlySet<string> = new Set(['svg', 'math'])

export const trackingLimits: Required<HtmlLimits> = {
  maxLength: Number.POSITIVE_INFINITY,
  maxAttributes: 1_000,
  maxValue: MAX_HREF,
}

export function rewriteHtml(html: string, { pixel, trackLink }: Rewriting): RewrittenHtml {
  const places = findPlaces(html, trackLink)
  const pieces: string[] = []
  const edits: string[] = []
  let at = 0
  const append = (end: number): void => {
    pieces.push(html.slice(at, end))
    at = end
  }
  let pixelLeft = pixel
  for (const { start, end, quote, tracked } of places.links) {
    if (pixelLeft !== null && start > places.pixel) {
      append(places.pixel)
      pieces.push(pixelLeft)
      pixelLeft = null
    }
    append(start)
    pieces.push(`${quote}${tracked.href}${quote}`)
    edits.push(`${tracked.id} ${html.slice(start, end)}`)
    at = end
  }
  if (pixelLeft !== null) {
    append(places.pixel)
    pieces.push(pixelLeft)
  }
  append(html.length)
  return { html: pieces.join(''), edits }
}

interface LinkPlace {
  /** The start of the value with its quotes. */
  readonly start: number
  readonly end: number
  /** The quote for the new value. */
  readonly quote: '"' | "'"
  readonly tracked: TrackedLink
}

interface Places {
  readonly links: readonly LinkPlace[]
  readonly pixel: number
}

function findPlaces(html: string, trackLink: Rewriting['trackLink']): Places {
  const finder = new PlaceFinder(html, trackLink)
  readHtml(html, finder, trackingLimits)
  return { links: finder.links, pixel: finder.bodyEnd ?? finder.lastComplete }
}

class PlaceFinder implements HtmlHandler {
  readonly links: LinkPlace[] = []
  /** The place before the last `</body>`. Null if there is none. */
  bodyEnd: number | null = null
  /** The place after the last token that the end of the input does not cut off, outside raw and foreign elements. */
  lastComplete = 0
  /** The raw element that is open. Empty if there is none. */
  private raw = ''
  /** The number of foreign elements that are open. */
  private foreign = 0
  /** A `</body>` whose `>` has not come yet. */
  private openBodyEnd: number | null = null

  constructor(
    private readonly html: string,
    private readonly trackLink: Rewriting['trackLink'],
  ) {}

  readsAttributesOf(name: string): boolean {
    return name === 'a' || name === 'area'
  }

  onOpenTag(tag: HtmlTag): void {
    if (this.raw !== '') return
    if (tag.name === 'a' || tag.name === 'area') this.addLink(tag)
    else if (foreignElements.has(tag.name)) this.foreign += tag.selfClosing ? 0 : 1
    else if (rawElements.has(tag.name)) this.raw = tag.name
  }

  onCloseTag(name: string, nameStart: number): void {
    if (this.raw === '' && this.foreign > 0 && foreignElements.has(name)) this.foreign -= 1
    if (this.raw === name && name !== 'plaintext') this.raw = ''
    // `</ body>` is a comment (HTML section 13.2.5.7).
    else if (this.raw === '' && name === 'body' && this.html[nameStart - 1] === '/') this.openBodyEnd = nameStart - 2
  }

  onMarkupEnd(end: number): void {
    if (this.raw === '' && this.foreign === 0) this.lastComplete = end
    if (this.openBodyEnd !== null) this.bodyEnd = this.openBodyEnd
    this.openBodyEnd = null
  }

  onText(text: string, isReference: boolean, end: number): void {
    if (this.raw !== '' || this.foreign > 0) return
    // At the end of the input, browsers also read the start of an unfinished tag as text.
    const isWhole = isReference || end < this.html.length
    if (isWhole || (end - text.length === this.lastComplete && !text.includes('<'))) this.lastComplete = end
  }

  private addLink({ attributes }: HtmlTag): void {
    const href = attributes.find(({ name }) => name === 'href')
    if (href === undefined || href.end === 0 || href.value.length >= MAX_HREF) return
    const tracked = this.trackLink(href.value)
    if (tracked === null) return
    const { quote, start, end } = href
    const margin = quote.length
    // The fields are written one by one: spreading an object takes as long as the rest of a link.
    this.links.push({ start: start - margin, end: end + margin, quote: quote === "'" ? "'" : '"', tracked })
  }
}
