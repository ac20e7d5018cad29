/**
 * Cells of the CSV files that we write and read back, safe against formula injection.
 *
 * Spreadsheets evaluate a cell that begins like a formula, and our cells come from untrusted input.
 * Such a cell is written with an apostrophe before it, and so is one that has such an apostrophe
 * already. Reading removes one apostrophe again, so every text survives both.
 */

/** The signs of formulas, control characters before them, and their full-width forms. */
const formulaStart = '[=+\\-@\\t\\r\\n\\uff1d\\uff0b\\uff0d\\uff20]'
const formulaPattern = new RegExp(`^'*${formulaStart}`)
const escapedFormulaPattern = new RegExp(`^'+${formulaStart}`)

export function escapeFormula(text: string): string {
  return formulaPattern.test(text) ? `'${text}` : text
}

export function unescapeFormula(cell: string): string {
  return escapedFormulaPattern.test(cell) ? cell.slice(1) : cell
}

/** A line with its line end (RFC 4180). Formulas are escaped. */
export function formatCsvLine(texts: readonly string[]): string {
  return `${texts.map((text) => quoteCell(escapeFormula(text))).join(',')}\r\n`
}

/** Blanks at either end need quotes to be kept. */
function quoteCell(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
