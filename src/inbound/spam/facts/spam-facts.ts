/**
 * Facts about a message that several rules need, computed once. Pure; every part is bounded.
 *
 * Limits: the first 40,000 characters of each body. Rules on wording see 6,000 from the beginning, where a message
 * says what it wants, and 2,000 from the end, where it says how to unsubscribe: a long letter contains every word
 * once.
 */
import { findAuthor } from '../../../base/mail/mailbox-list.js'
import { isThrowawayDomain } from './host-kinds.js'
import { collectHtmlFacts, type HtmlFacts } from './html-facts.js'
import { collectImpersonationFacts, type ImpersonationFacts, parseFormUrls } from './impersonation-facts.js'
import { readWordsOf } from './readable-words.js'
import type { SpamField, SpamMessage } from './spam-message.js'
import { findTextUrls, parseImageUrls, parseLinkUrls, registeredDomainOf, type SpamUrl } from './url-facts.js'
import { WordedText } from './wording.js'

const MAX_PAGES = 3

const MAX_PAGE = 65_536

const unpackingPattern =
  /\b(?:atob|unescape|fromcharcode|document\.write(?:ln)?|eval|location\.(?:href|replace|assign)|window\.location|createobjecturl)\b/i

const MAX_BODY_LENGTH = 40_000
const BEGINNING_LENGTH = 6_000
const END_LENGTH = 2_000

export interface SpamFacts {
  readonly message: SpamMessage
  /** Values by name, in their order. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly html: HtmlFacts
  /** The words of the subject and both bodies as people see them; runs of blanks are one blank. */
  readonly words: string
  /** True only if subject and bodies are ASCII, as far as `words` has them. */
  readonly isAscii: boolean
  /**
   * An upper bound of the ASCII capitals, and one of the signs `*`, `_` and `.`, in subject and bodies and in `words`.
   */
  readonly capitals: number
  readonly dots: number
  /** The beginning and the end of `words`, in lower case. */
  readonly lowerText: string
  /** The same, to search for patterns. */
  readonly wordedText: WordedText
  /** The text part; without one, the visible text of the HTML. */
  readonly body: string
  /** Links of the HTML and web addresses in the text. */
  readonly urls: readonly SpamUrl[]
  readonly images: readonly SpamUrl[]
  /** Targets of forms. */
  readonly forms: readonly SpamUrl[]
  /** The author or a link has a top-level domain with mostly throwaway registrations. */
  readonly hasThrowawayDomain: boolean
  readonly impersonation: ImpersonationFacts
  /** Facts of attached web pages. */
  readonly attachedPages: PageFacts
  /** The author that records and lists name. */
  readonly author: Author | null
}

interface Author {
  /** Need not be valid. */
  readonly address: string
  readonly name: string
  readonly local: string
  readonly domain: string
  /** The registered domain. */
  readonly organization: string
}

export function collectSpamFacts(message: SpamMessage): SpamFacts {
  const html = collectHtmlFacts(message.html ?? '')
  const text = message.text?.slice(0, MAX_BODY_LENGTH) ?? ''
  const visibleText = html.visibleText.slice(0, MAX_BODY_LENGTH)
  const { words, isAscii, capitals, dots } = readWordsOf(`${message.subject}\n${text}\n${visibleText}`)
  const lowerText = beginningAndEndOf(words).toLowerCase()
  const wordedText = new WordedText(lowerText)
  const urls = [...parseLinkUrls(html.links), ...findTextUrls(message.text ?? '')]
  const author = describeAuthor(message)
  const domain = author?.domain ?? null
  return {
    message,
    fields: groupByName(message.fields),
    html,
    words,
    isAscii,
    capitals,
    dots,
    lowerText,
    wordedText,
    body: text.trim() === '' ? visibleText : text,
    urls,
    images: parseImageUrls(html.images),
    forms: parseFormUrls(html.actions),
    hasThrowawayDomain: [domain ?? '', ...urls.map(({ host }) => host)].some(isThrowawayDomain),
    impersonation: collectImpersonationFacts({
      from: message.from,
      subject: message.subject,
      domain,
      wordedText,
      urls,
    }),
    attachedPages: collectPageFacts(message.pages),
    author,
  }
}

/** Value of the first field of that name. Empty if there is none. */
export function firstFieldOf(facts: SpamFacts, name: string): string {
  return facts.fields.get(name)?.[0] ?? ''
}

export function countFields(facts: SpamFacts, name: string): number {
  return facts.fields.get(name)?.length ?? 0
}

function beginningAndEndOf(words: string): string {
  return words.length <= BEGINNING_LENGTH + END_LENGTH
    ? words
    : `${words.slice(0, BEGINNING_LENGTH)} ${words.slice(-END_LENGTH)}`
}

function groupByName(fields: readonly SpamField[]): ReadonlyMap<string, readonly string[]> {
  const all = Map.groupBy(fields, ({ name }) => name)
  return new Map([...all].map(([name, group]) => [name, group.map(({ value }) => value)]))
}

function describeAuthor({ from }: SpamMessage): Author | null {
  const author = findAuthor(from)
  if (author === null) return null
  const at = author.address.lastIndexOf('@')
  const domain = author.address.slice(at + 1)
  return { ...author, local: author.address.slice(0, at), domain, organization: registeredDomainOf(domain) }
}

/**
 * Finds what an attached web page does once it is opened in a browser, where no filter sees it.
 *
 * Limits: the first three pages, 64 KB of each.
 */
interface PageFacts {
  /** The page has a password field, or a form that is sent to another site. */
  readonly asksForInput: boolean
  /** The page redirects by itself, or its own script writes it. */
  readonly unpacksItself: boolean
}

function collectPageFacts(pages: readonly string[]): PageFacts {
  const facts = pages.slice(0, MAX_PAGES).map((whole) => {
    const page = whole.slice(0, MAX_PAGE)
    const { passwordInputs, tags, hasRefresh, actions } = collectHtmlFacts(page)
    return {
      asks: passwordInputs > 0 || actions.some((action) => /^\s{0,20}https?:/i.test(action)),
      unfolds: hasRefresh || (tags.has('script') && unpackingPattern.test(page)),
    }
  })
  return { asksForInput: facts.some(({ asks }) => asks), unpacksItself: facts.some(({ unfolds }) => unfolds) }
}
