/**
 * The plain text of an HTML body that has none beside it: of mail that we compose, and of mail
 * that came in and somebody reads.
 *
 * The converter's parser takes quadratic time on some nestings, and some of its code one
 * stack slot a line, so it gets only what has few enough tags and lines to be done within
 * some tens of milliseconds. Of the rest the tags are dropped, in one pass:
 * less pretty, and never slow. The text of a very long body is cut.
 */
import { compile } from 'html-to-text'

/** Opening and closing tags, of which the time goes with the product, and line ends. */
const MAX_MARKS = 3_000
/** In characters. */
const MAX_HTML = 100_000
/** Of which the tags are dropped; what comes after is not looked at. */
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

/** Lines end with LF; empty where the HTML shows no text. */
export function textOfHtml(html: string): string {
  if (!isSafeToConvert(html)) return toPlainText(html.slice(0, MAX_STRIPPED)).trim()
  try {
    return convert(html).trim()
  } catch {
    // The library throws on a few odd but harmless attributes; a body is never worth an error of ours.
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
  return stripTags(html)
    .slice(0, MAX_TEXT)
    .replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,8}));/gi, decodeEntity)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
}

const namedEntities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  euro: '€',
  copy: '©',
  ndash: '–',
  mdash: '—',
}

/** The commonest names; what is none of them stays as it is. */
function decodeEntity(whole: string, hex?: string, decimal?: string, name?: string): string {
  if (name !== undefined) return Object.hasOwn(namedEntities, name) ? (namedEntities[name] ?? whole) : whole
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code >= 0x20 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
}

/** Elements whose text nobody sees, and where they end. */
const hiddenElements: Readonly<Record<string, RegExp>> = {
  script: /<\/script/gi,
  style: /<\/style/gi,
  title: /<\/title/gi,
  template: /<\/template/gi,
}
const breakElements = new Set([
  'br',
  'p',
  'div',
  'tr',
  'li',
  'table',
  'ul',
  'ol',
  'hr',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
])
const cellElements = new Set(['td', 'th'])
/** What makes a tag, a comment or the like of a `<`. */
const tagPattern = /<(?:\/?([a-z][a-z0-9]*)|[!?/])/iy

function stripTags(html: string): string {
  let text = ''
  let at = 0
  while (at < html.length && text.length < MAX_TEXT) {
    const open = html.indexOf('<', at)
    if (open === -1) return text + html.slice(at)
    tagPattern.lastIndex = open
    const found = tagPattern.exec(html)
    const name = found?.[1]?.toLowerCase() ?? ''
    text += html.slice(at, open) + (found === null ? '<' : replacementFor(name))
    at = found === null ? open + 1 : findTagEnd(html, open, found[0].startsWith('</') ? '' : name)
  }
  return text
}

function replacementFor(name: string): string {
  if (breakElements.has(name)) return '\n'
  return cellElements.has(name) ? ' ' : ''
}

/** Behind the tag, the comment, or the element that nobody sees, which begins at `open`. */
function findTagEnd(html: string, open: number, name: string): number {
  if (html.startsWith('<!--', open)) return indexAfter(html, '-->', open + 4)
  const end = indexAfter(html, '>', open + 1)
  const closing = Object.hasOwn(hiddenElements, name) ? hiddenElements[name] : undefined
  if (closing === undefined) return end
  closing.lastIndex = end
  return closing.test(html) ? indexAfter(html, '>', closing.lastIndex) : html.length
}

/** The end of the text where there is no such sign, so that nothing is searched twice. */
function indexAfter(text: string, sign: string, from: number): number {
  const at = text.indexOf(sign, from)
  return at === -1 ? text.length : at + sign.length
}
