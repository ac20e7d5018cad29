/**
 * Encodes values that are put into a part of a URL.
 *
 * A path may have the characters of RFC 3986 section 3.3, so `/`, `@` and `+` of a value stay, and `?` and `#` do not
 * end it. In a query or a fragment only unreserved characters stay (section 2.3), since the others separate fields
 * there. A percent sign of the value is encoded too: the value is data, whatever it looks like. `!'()*` are encoded
 * because mail programs end a URL in plain text before some of them.
 */

/** A fragment is encoded as a query is. */
export type UrlPart = 'path' | 'query'

/** A lone surrogate becomes U+FFFD. */
export function encodeForUrl(value: string, part: UrlPart): string {
  const text = value.toWellFormed()
  if (part === 'query') return encodeURIComponent(text).replace(/[!'()*]/g, encodeOctet)
  return encodeURI(text).replace(/[?#!'()*]/g, encodeOctet)
}

function encodeOctet(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
