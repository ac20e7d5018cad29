/** Limits how much HTML of one email is tracked, because more would block the main thread. */

/** Limits of all HTML of an email, which takes about 5 ms on the main thread: characters, tags, links. */
export const MAX_HTML = 500_000
export const MAX_HTML_TAGS = 10_000
export const MAX_LINKS = 1_000

/** The rest of the limits of an email. */
export class TrackingBudget {
  isExceeded = false
  private characters = MAX_HTML
  private tags = MAX_HTML_TAGS
  private links = MAX_LINKS

  takeHtml(html: string): boolean {
    this.characters -= html.length
    if (this.characters < 0) this.isExceeded = true
    for (let at = html.indexOf('<'); at !== -1 && !this.isExceeded; at = html.indexOf('<', at + 1)) {
      this.tags -= 1
      if (this.tags < 0) this.isExceeded = true
    }
    return !this.isExceeded
  }

  takeLink(): boolean {
    this.links -= 1
    if (this.links < 0) this.isExceeded = true
    return !this.isExceeded
  }
}
