/**
 * Finds what an attached web page does once it is opened in a browser, beyond the reach of filters.
 *
 * Limits: the first three pages, 64 KB of each.
 */
import { collectHtmlFacts } from './html-facts.js'

const MAX_PAGES = 3
const MAX_PAGE = 65_536

export interface PageFacts {
  /** It has a password field, or a form that is sent to another site. */
  readonly asksForInput: boolean
  /** It redirects by itself, or its own script writes it. */
  readonly unpacksItself: boolean
}

const unpackingPattern =
  /\b(?:atob|unescape|fromcharcode|document\.write(?:ln)?|eval|location\.(?:href|replace|assign)|window\.location|createobjecturl)\b/i

export function collectPageFacts(pages: readonly string[]): PageFacts {
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
