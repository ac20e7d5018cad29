/**
 * Cells of CSV files that we write and that come back to us.
 *
 * What begins like a formula is one to spreadsheets, and what is written there comes from
 * strangers. So such a cell gets an apostrophe before it, as one that has such an apostrophe
 * already gets another one; reading takes one away again, and every text survives both.
 */

/** The signs themselves, the blanks before them, and their wide forms. */
const formulaStart = '[=+\\-@\\t\\r\\n\\uff1d\\uff0b\\uff0d\\uff20]'
const formulaPattern = new RegExp(`^'*${formulaStart}`)
const escapedFormulaPattern = new RegExp(`^'+${formulaStart}`)

export function escapeFormula(text: string): string {
  return formulaPattern.test(text) ? `'${text}` : text
}

export function unescapeFormula(cell: string): string {
  return escapedFormulaPattern.test(cell) ? cell.slice(1) : cell
}

/** With its line end, as RFC 4180 has it. Texts are guarded. */
export function formatCsvLine(texts: readonly string[]): string {
  return `${texts.map((text) => quoteCell(escapeFormula(text))).join(',')}\r\n`
}

/** A blank at either end would be lost without quotes. */
function quoteCell(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
