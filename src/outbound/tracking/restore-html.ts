/**
 * Restores the HTML of a tracked email as it was submitted. It reverses `rewrite-html.ts`.
 *
 * It reads any text around and between the bodies, such as several parts that a MIME reader has joined, because it
 * recognizes links by their ids and the pixel by the id of the email.
 *
 * It runs in the processes that parse messages, because a megabyte takes tens of milliseconds.
 */
import { readHtml } from '../../base/mail/html/read-html.js'
import { escapeHtml } from '../../base/mail/markup.js'
import { type Json, parseJson } from '../../base/storage/tables/columns.js'
import type { HtmlChange } from '../../records/messages/mime/mime-parts-protocol.js'
import { isBroadcastPixel, targetOfBroadcastUrl } from './broadcast-urls.js'
import { trackingLimits } from './rewrite-html.js'
import { isPixel, linkIdOfClickUrl } from './tracked-urls.js'

/** The data that says how the HTML of an email was tracked. */
export interface TrackedHtml {
  readonly emailId: string
  /** Null for a message of a broadcast, whose links say what they were. */
  readonly edits: Json<readonly string[]> | null
}

/** Restores HTML as it was submitted. The processes import it under this name. */
export const htmlChange: HtmlChange<TrackedHtml> = {
  module: new URL(import.meta.url),
  change: (html, { emailId, edits }) =>
    edits === null ? restoreBroadcastHtml(html, emailId) : restoreHtml(html, emailId, parseJson(edits)),
}

/** `edits` are those that `EmailTracking` stores. */
export function restoreHtml(html: string, emailId: string, edits: readonly string[]): string {
  const takeSource = createSourceReader(edits)
  return replaceTracked(html, {
    isPixel: (src, markup) => isPixel(src, markup, emailId),
    takeSource,
  })
}

/** Restores links from the URLs in them. Their characters may have been written in another way. */
function restoreBroadcastHtml(html: string, emailId: string): string {
  return replaceTracked(html, {
    isPixel: (src, markup) => isBroadcastPixel(src, markup, emailId),
    takeSource: (href) => {
      const target = targetOfBroadcastUrl(href, emailId)
      return target === null ? null : `"${escapeHtml(target)}"`
    },
  })
}

interface TrackedPlaces {
  readonly isPixel: (src: string, markup: string) => boolean
  /** Returns what stood in place of this href, with its quotes, or null if the href stays. */
  readonly takeSource: (href: string) => string | null
}

function replaceTracked(html: string, { isPixel, takeSource }: TrackedPlaces): string {
  const pieces: string[] = []
  let at = 0
  const replace = (start: number, end: number, text: string): void => {
    pieces.push(html.slice(at, start), text)
    at = end
  }
  readHtml(
    html,
    {
      readsAttributesOf: (name) => name === 'a' || name === 'area' || name === 'img',
      onOpenTag({ name, attributes, start, end }) {
        if (name === 'img') {
          const src = attributes[0]?.value ?? ''
          if (isPixel(src, html.slice(start, end))) replace(start, end, '')
        }
        const href = name === 'a' || name === 'area' ? attributes.find((attribute) => attribute.name === 'href') : null
        const source = takeSource(href?.value ?? '')
        if (href && source !== null) replace(href.start - href.quote.length, href.end + href.quote.length, source)
      },
      onCloseTag: () => undefined,
      onText: () => undefined,
    },
    trackingLimits,
  )
  return pieces.join('') + html.slice(at)
}

/** Returns a function that finds the source of a link. If a link has several sources, they take turns. */
function createSourceReader(edits: readonly string[]): (href: string) => string | null {
  const sourcesOf = new Map<string, string[]>()
  for (const edit of edits) {
    const blank = edit.indexOf(' ')
    const id = edit.slice(0, blank)
    const sources = sourcesOf.get(id)
    if (sources === undefined) sourcesOf.set(id, [edit.slice(blank + 1)])
    else sources.push(edit.slice(blank + 1))
  }
  return (href) => {
    const id = linkIdOfClickUrl(href)
    const sources = id === null ? undefined : sourcesOf.get(id)
    const source = sources?.shift()
    if (source === undefined) return null
    sources?.push(source)
    return source
  }
}
