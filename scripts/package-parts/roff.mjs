/** The macros of manual pages. */

export function section(title, lines) {
  return [`.SH ${title.toUpperCase()}`, ...lines]
}

export function item([term, meaning], rest = '') {
  return ['.TP', `\\fB${toRoff(term)}\\fR${rest}`, toRoff(meaning)]
}

/** A hyphen is a minus sign, so that it can be copied. A line must not begin as a request does. */
export function toRoff(given) {
  return given
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
    .replace(/[^\0-\x7f]/gu, (one) => `\\[u${one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`)
}
