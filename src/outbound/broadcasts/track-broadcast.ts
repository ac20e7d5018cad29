/**
 * Makes the HTML of a broadcast for its frame, with tracked links, the pixel and the footer. Marks stand for what
 * differs between recipients.
 *
 * The target of a link without variables is one of the broadcast's links. A link whose URL has variables is made for
 * each contact (`contact-message.ts`), unless its scheme is not HTTP. A link with the recipient's unsubscribe URL
 * stays.
 */

import { escapeHtml } from '../../base/mail/markup.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { FrameText } from '../../records/messages/frames/frame-recipe.js'
import { mailHostOf } from '../../workspaces/domains/rows/sending-domains.js'
import { buildBroadcastClickUrl, buildBroadcastPixel } from '../tracking/broadcast-urls.js'
import { createOwnUrls, linkUrlOf } from '../tracking/link-url.js'
import { rewriteHtml, type TrackedLink } from '../tracking/rewrite-html.js'
import { MAX_HTML, MAX_HTML_TAGS, MAX_LINKS, TrackingBudget } from '../tracking/tracking-budget.js'
import type { Marks, SplitText } from './message-text.js'

/** The most characters of a tracked URL. A link that would be longer stays as it is. */
export const MAX_CLICK_URL = 8_000

interface TrackingPlan {
  /** The HTML as it was submitted. The limits apply to it. */
  readonly source: string
  readonly marks: Marks
  readonly publicUrl: string
  readonly base: string
  readonly domain: string
  readonly broadcastId: string
  /** Complete markup for the end of the message. Empty if there is none. */
  readonly footer: string
  /** False if only the footer is added. The limits are the same. */
  readonly isTracked?: boolean
}

interface TrackedHtml {
  readonly html: string
  /** Each URL occurs once. */
  readonly links: readonly string[]
}

/** Returns `html` with marks. Throws a Refusal `too-large`. */
export function trackBroadcast(html: string, plan: TrackingPlan): TrackedHtml {
  const { marks, publicUrl, domain, footer, isTracked = true } = plan
  const own = createOwnUrls(publicUrl)(mailHostOf(domain))
  const email = { base: plan.base, emailId: marks.add({ kind: 'email-id' }), broadcastId: plan.broadcastId }
  const links = new Set<string>()
  const budget = new TrackingBudget()
  const trackLink = (href: string): TrackedLink | null => {
    if (!budget.takeLink() || !isTracked) return null
    const parts = marks.split(href)
    if (parts.some((part) => typeof part !== 'string')) return markLink(parts, marks)
    const url = linkUrlOf(href, own)
    const tracked = url === null ? '' : buildBroadcastClickUrl(email, url, null)
    if (url === null || tracked.length > MAX_CLICK_URL) return null
    links.add(url)
    return { id: '', href: escapeHtml(tracked) }
  }
  if (!budget.takeHtml(plan.source)) throw buildTooLarge()
  const ending = footer + (isTracked ? buildBroadcastPixel(email) : '')
  const rewritten = rewriteHtml(html, { pixel: ending, trackLink })
  if (budget.isExceeded) throw buildTooLarge()
  return { html: rewritten.html, links: [...links] }
}

const webScheme = /^[\0-\x20]*https?:/i

/** Returns null if the link stays as it is. */
function markLink(parts: SplitText, marks: Marks): TrackedLink | null {
  const [first] = parts
  if (typeof first === 'string' && first.trim() !== '' && !webScheme.test(first)) return null
  const url: FrameText[number][] = []
  for (const part of parts) {
    if (typeof part === 'string') url.push(part)
    else if (part.value.kind === 'variable') url.push(part.value.variable)
    else return null
  }
  return { id: '', href: marks.add({ kind: 'link', url }, false) }
}

function buildTooLarge(): Refusal {
  const message = `html: must have at most ${MAX_HTML} characters, ${MAX_HTML_TAGS} tags and ${MAX_LINKS} links`
  return new Refusal('too-large', message, { field: 'html', limit: MAX_HTML })
}
