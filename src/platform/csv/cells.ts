/**
 * Cells of CSV files that we write and that come back to us.
 *
 * What begins like a formula is one to spreadsheets, and what is written there comes from
 * strangers. So such a cell gets an apostrophe before it, as one that has such an apostrophe
 * already gets another one; reading takes one away again, and every text survives both.
 */

/** The signs themselves, the blanks before them, and their wide forms. */
const like = '[=+\\-@\\t\\r\\n\\uff1d\\uff0b\\uff0d\\uff20]'
const formula = new RegExp(`^'*${like}`)
const guardedFormula = new RegExp(`^'+${like}`)

export function guarded(text: string): string {
  return formula.test(text) ? `'${text}` : text
}

export function unguarded(cell: string): string {
  return guardedFormula.test(cell) ? cell.slice(1) : cell
}

/** With its line end, as RFC 4180 has it. Texts are guarded. */
export function csvLine(texts: readonly string[]): string {
  return `${texts.map((text) => quoted(guarded(text))).join(',')}\r\n`
}

/** A blank at either end would be lost without quotes. */
function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
