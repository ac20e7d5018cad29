/**
 * Shows HTML that is not sent yet as mail programs do in a light or a dark scheme. Conditions on the scheme are decided
 * here, so that the preview does not depend on the browser. Without such conditions, a dark program inverts the colors.
 */

export type PreviewScheme = 'light' | 'dark'

const condition = /\(\s{0,9}prefers-color-scheme\s{0,9}:\s{0,9}(dark|light)\s{0,9}\)/gi

const LIGHT = '<style>:root{color-scheme:light!important}</style>'
const OWN_DARK = '<style>:root{color-scheme:dark!important}</style>'
/** Images keep their colors, as they do in mail programs. */
const INVERTED =
  '<style>html{background:#fff;filter:invert(1) hue-rotate(180deg)}img{filter:invert(1) hue-rotate(180deg)}</style>'

export function showInScheme(html: string, scheme: PreviewScheme): string {
  let hasOwnDark = false
  const decided = html.replace(condition, (_, named: string) => {
    hasOwnDark ||= named.toLowerCase() === 'dark'
    return named.toLowerCase() === scheme ? '(min-width: 0)' : '(max-width: 0)'
  })
  if (scheme === 'light') return decided + LIGHT
  return decided + (hasOwnDark ? OWN_DARK : INVERTED)
}
