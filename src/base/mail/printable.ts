/**
 * Makes untrusted text fit for headers, logs, pages and SMTP replies: what may not be shown becomes a question mark.
 */

/** Printable ASCII alone. */
export function toPrintableAscii(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, '?')
}

/** Removes control and format characters, line and paragraph separators, and halves of surrogate pairs. */
export function toPrintableText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?')
}

/** Puts the text on one line of at most so many code units, with single blanks and nothing invisible. */
export function toOneLine(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const cut = text.slice(0, maxLength * 4).replace(/[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
  return cut
    .trim()
    .slice(0, maxLength)
    .replace(/[\ud800-\udbff]$/, '')
}
