/**
 * Cells of exported CSV files, which users may import again.
 *
 * A spreadsheet evaluates a cell that begins like a formula, and the text is untrusted input. Such a cell is
 * written with a leading apostrophe, as is a cell that already has one before a formula. Reading removes one
 * apostrophe, so every text survives the round trip.
 */

/** The characters that begin a formula, the blanks before them, and their full-width forms. */
const formulaStart = '[=+\\-@\\t\\r\\n\\uff1d\\uff0b\\uff0d\\uff20]'
const formulaPattern = new RegExp(`^'*${formulaStart}`)
const escapedFormulaPattern = new RegExp(`^'+${formulaStart}`)

export function escapeFormula(text: string): string {
  return formulaPattern.test(text) ? `'${text}` : text
}

export function unescapeFormula(cell: string): string {
  return escapedFormulaPattern.test(cell) ? cell.slice(1) : cell
}

/** With its line end (RFC 4180). Formulas are escaped. */
export function formatCsvLine(texts: readonly string[]): string {
  return `${texts.map((text) => quoteCell(escapeFormula(text))).join(',')}\r\n`
}

/** Without quotes, readers drop blanks at either end. */
function quoteCell(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
