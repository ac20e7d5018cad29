/** The moment that a Date or Received field names; null: it names none. Comments are passed over. */
export function parseFieldDate(value: string): number | null {
  const at = Date.parse(
    value
      .slice(0, 500)
      .replace(/\([^()]*\)/g, '')
      .trim(),
  )
  return Number.isNaN(at) ? null : at
}
