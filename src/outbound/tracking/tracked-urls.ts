/** The URLs and the pixel that tracking puts into HTML, and how they are recognized there. */
import { escapeHtml } from '../../base/mail/markup.js'

const clickUrl = /\/v1\/track\/click\/([0-9a-v]{36})$/

/** `base`: without a trailing slash. */
export function buildClickUrl(base: string, linkId: string): string {
  return `${base}/v1/track/click/${linkId}`
}

/** The id of the link; null: it is no click URL. */
export function linkIdOfClickUrl(url: string): string | null {
  return clickUrl.exec(url)?.[1] ?? null
}

/**
 * Visible with the size of a point: some mail programs do not load what is hidden. The empty `alt` hides it from
 * screen readers.
 */
export function buildPixel(base: string, emailId: string): string {
  return buildPixelOf(`${base}${pixelPathOf(emailId)}`)
}

/** `src`: the value of the first `src` of an `img`; `markup`: that tag as written. */
export function isPixel(src: string, markup: string, emailId: string): boolean {
  return src.endsWith(pixelPathOf(emailId)) && markup === buildPixelOf(src)
}

function pixelPathOf(emailId: string): string {
  return `/v1/track/open/${emailId}`
}

/** `src`: not escaped. */
export function buildPixelOf(src: string): string {
  return `<img src="${escapeHtml(src)}" width="1" height="1" alt="" style="width:1px;height:1px;border:0">`
}
