/**
 * What an attached web page does once it is opened in a browser, where no filter looks any more.
 *
 * Limits: the first three pages, 64 KB of each.
 */
import { htmlFacts } from './html-facts.js'

const MAX_PAGES = 3
const MAX_PAGE = 65_536

export interface PageFacts {
  /** It asks for a password, or for anything that a form sends away. */
  readonly asks: boolean
  /** It leads elsewhere by itself, or is written by its own script. */
  readonly unfolds: boolean
}

const unfolding =
  /\b(?:atob|unescape|fromcharcode|document\.write(?:ln)?|eval|location\.(?:href|replace|assign)|window\.location|createobjecturl)\b/i

export function pageFacts(pages: readonly string[]): PageFacts {
  const found = pages.slice(0, MAX_PAGES).map((whole) => {
    const page = whole.slice(0, MAX_PAGE)
    const { passwords, tags, refresh, actions } = htmlFacts(page)
    return {
      asks: passwords > 0 || actions.some((action) => /^\s{0,20}https?:/i.test(action)),
      unfolds: refresh || (tags.has('script') && unfolding.test(page)),
    }
  })
  return { asks: found.some(({ asks }) => asks), unfolds: found.some(({ unfolds }) => unfolds) }
}
