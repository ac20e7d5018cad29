/** Makes the URLs and the pixel that tracking puts into HTML, and recognizes them there. */
import { escapeHtml } from '../../base/mail/markup.js'

const clickUrl = /\/v1\/track\/click\/([0-9a-v]{36})$/

/** `base` has no trailing slash. */
export function buildClickUrl(base: string, linkId: string): string {
  return `${base}/v1/track/click/${linkId}`
}

/** Returns the id of the link, or null if the URL is no click URL. */
export function linkIdOfClickUrl(url: string): string | null {
  return clickUrl.exec(url)?.[1] ?? null
}

/**
 * Builds a pixel of the size of a point, which is visible because some mail programs do not load hidden images. The
 * empty `alt` hides it from screen readers.
 */
export function buildPixel(base: string, emailId: string): string {
  return buildPixelOf(`${base}${pixelPathOf(emailId)}`)
}

/** `src` is the value of the first `src` of an `img`; `markup` is that tag as written. */
export function isPixel(src: string, markup: string, emailId: string): boolean {
  return src.endsWith(pixelPathOf(emailId)) && markup === buildPixelOf(src)
}

function pixelPathOf(emailId: string): string {
  return `/v1/track/open/${emailId}`
}

/** `src` is not escaped. */
export function buildPixelOf(src: string): string {
  return `<img src="${escapeHtml(src)}" width="1" height="1" alt="" style="width:1px;height:1px;border:0">`
}
