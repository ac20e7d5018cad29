/**
 * Tracks one email: makes its HTML bodies with tracked links and the pixel, and the writes for the commit of the email.
 * The same URL becomes the same link in all bodies.
 */

import type { DomainName } from '../../base/mail/address.js'
import { escapeHtml } from '../../base/mail/markup.js'
import type { Write } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { mailHostOf } from '../../workspaces/domains/rows/sending-domains.js'
import { createLinkId } from './link-id.js'
import { createOwnUrls, linkUrlOf } from './link-url.js'
import { insertHtmlEdits, insertLinks } from './links.js'
import { rewriteHtml, type TrackedLink } from './rewrite-html.js'
import { buildClickUrl, buildPixel } from './tracked-urls.js'
import { TrackingBudget } from './tracking-budget.js'
import type { TrackingHost } from './tracking-host.js'

/** Why a message goes out without tracking. */
export type TrackingSkip = 'signed' | 'encrypted' | 'malformed' | 'encoding' | 'charset' | 'too-large'

export interface TrackedEmail {
  readonly workspaceId: string
  readonly emailId: string
  /** The domain of the first From address. */
  readonly domain: DomainName
  readonly opens: boolean
  readonly clicks: boolean
  readonly now: number
}

export interface EmailTracking {
  /**
   * Returns the HTML with tracked links and the pixel. HTML that is too large, together with the HTML before, is
   * returned as it is. You may call it for several bodies of the email. `withPixel` is false for a body after the
   * first.
   */
  readonly trackHtml: (html: string, withPixel?: boolean) => string
  /** Returns a reason if HTML was returned as it was. */
  readonly skipped: () => TrackingSkip | null
  /** Returns the links and the data that restores the submitted HTML. Call it once, after all HTML is tracked. */
  readonly collectWrites: () => readonly Write[]
}

interface TrackingDeps {
  readonly trackingHost: Pick<TrackingHost, 'baseFor'>
  /** `service.public_url`. */
  readonly publicUrl: string
}

export class EmailTracker {
  private readonly ownUrlsOf: ReturnType<typeof createOwnUrls>

  constructor(private readonly deps: TrackingDeps) {
    this.ownUrlsOf = createOwnUrls(deps.publicUrl)
  }

  /** Returns null if neither opens nor clicks are tracked. */
  begin(email: TrackedEmail): EmailTracking | null {
    if (!email.opens && !email.clicks) return null
    const base = this.deps.trackingHost.baseFor(email.domain)
    const own = this.ownUrlsOf(mailHostOf(email.domain))
    const links = new EmailLinks(email, base)
    const pixel = email.opens ? buildPixel(base, email.emailId) : null
    const budget = new TrackingBudget()
    const trackLink = (href: string): TrackedLink | null => {
      const url = email.clicks && budget.takeLink() ? linkUrlOf(href, own) : null
      return url === null ? null : links.findOrAdd(url)
    }
    let isChanged = false
    return {
      trackHtml: (html, withPixel = true) => {
        if (!budget.takeHtml(html)) return html
        const rewritten = rewriteHtml(html, { pixel: withPixel ? pixel : null, trackLink })
        if (budget.isExceeded) return html
        links.addEdits(rewritten.edits)
        isChanged ||= rewritten.html !== html
        return rewritten.html
      },
      skipped: () => (budget.isExceeded ? 'too-large' : null),
      collectWrites: () => (isChanged ? links.toWrites() : []),
    }
  }
}

/** The distinct links of an email. */
class EmailLinks {
  private readonly byUrl = new Map<string, TrackedLink>()
  private readonly edits: string[] = []
  private readonly escapedBase: string

  constructor(
    private readonly email: TrackedEmail,
    base: string,
  ) {
    this.escapedBase = escapeHtml(base)
  }

  findOrAdd(url: string): TrackedLink {
    const known = this.byUrl.get(url)
    if (known !== undefined) return known
    const id = createLinkId(this.email.now)
    const link = { id, href: buildClickUrl(this.escapedBase, id) }
    this.byUrl.set(url, link)
    return link
  }

  addEdits(edits: readonly string[]): void {
    for (const edit of edits) this.edits.push(edit)
  }

  /** Writes a row of edits even without links, because it tells that there is a pixel to remove. */
  toWrites(): readonly Write[] {
    const { emailId: email_id, workspaceId: workspace_id, now: created_at } = this.email
    const of = { email_id, workspace_id, created_at }
    const links = Array.from(this.byUrl, ([url, { id }]) => [id, url] as const)
    const edits = this.edits.length === links.length ? this.edits : joinEdits(this.edits)
    return [
      ...(links.length === 0 ? [] : [insertLinks({ ...of, links: toJson(links) })]),
      insertHtmlEdits({ ...of, edits: toJson(edits) }),
    ]
  }
}

/** Joins the edits of each link, in their order. */
function joinEdits(edits: readonly string[]): readonly string[] {
  const byLink = Map.groupBy(edits, (edit) => edit.slice(0, edit.indexOf(' ')))
  return [...byLink.values()].flatMap(joinEqual)
}

/** Returns one edit for a link that is written in the same way everywhere. */
function joinEqual(edits: readonly string[]): readonly string[] {
  return edits.every((edit) => edit === edits[0]) ? edits.slice(0, 1) : edits
}
