/**
 * Makes the plain text of an HTML body that has no text: for mail that this server composes, and to show inbound mail.
 *
 * The converter's parser takes quadratic time on some nestings, and some of its code takes one stack frame for each
 * line. So it gets only HTML with few tags and lines, which takes some tens of milliseconds at most. For other HTML the
 * tags are dropped in one linear pass, which is less pretty, but never slow. The text of a very long body is cut.
 */
import { compile } from 'html-to-text'
import { blockElements, cellElements, unrenderedElements } from '../../../base/mail/html/elements.js'
import { type HtmlHandler, type HtmlTag, readHtml } from '../../../base/mail/html/read-html.js'

/** The most tags and line ends. The converter's time grows with the product of opening and closing tags. */
const MAX_MARKS = 3_000
/** The most characters that the converter gets. */
const MAX_HTML = 100_000
/** The most characters whose tags are dropped. The rest is not read. */
const MAX_STRIPPED = 2_000_000
const MAX_TEXT = 200_000

const convert = compile({
  wordwrap: 76,
  limits: { maxInputLength: MAX_HTML, maxDepth: 100 },
  formatters: {
    alternative: (element, _walk, builder) => builder.addInline(element.attribs?.['alt'] ?? ''),
  },
  selectors: [
    { selector: 'title', format: 'skip' },
    { selector: 'img', format: 'alternative' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
})

/** Returns text whose lines end with LF. Empty if the HTML shows no text. */
export function textOfHtml(html: string): string {
  if (!isSafeToConvert(html)) return toPlainText(html.slice(0, MAX_STRIPPED)).trim()
  try {
    return convert(html).trim()
  } catch {
    // The library throws on a few odd but harmless attributes; a body must not cause an error.
    return toPlainText(html).trim()
  }
}

const LT = 0x3c
const LF = 0x0a

function isSafeToConvert(html: string): boolean {
  if (html.length > MAX_HTML) return false
  let marks = 0
  for (let at = 0; at < html.length; at += 1) {
    const code = html.charCodeAt(at)
    if (code === LT || code === LF) marks += 1
  }
  return marks <= MAX_MARKS
}

function toPlainText(html: string): string {
  const reader = new PlainTextReader()
  readHtml(html, reader, { maxLength: MAX_STRIPPED })
  return reader.text
    .slice(0, MAX_TEXT)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
}

class PlainTextReader implements HtmlHandler {
  text = ''
  /** The unrendered element that is open. Empty if there is none. */
  private unrendered = ''

  onOpenTag({ name }: HtmlTag): void {
    if (unrenderedElements.has(name)) this.unrendered = name
    this.separateText(name)
  }

  onCloseTag(name: string): void {
    if (name === this.unrendered) this.unrendered = ''
    this.separateText(name)
  }

  onText(text: string): void {
    if (this.unrendered === '' && this.text.length < MAX_TEXT) this.text += text
  }

  private separateText(name: string): void {
    if (blockElements.has(name)) this.onText('\n')
    else if (cellElements.has(name)) this.onText(' ')
  }
}
