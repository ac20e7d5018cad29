/**
 * The UTF-16 code units of a text as numbers in memory: a loop over them takes a third of the time of one over `charCodeAt`,
 * which looks at how the string is stored each time.
 */

/** Code units. A longer text gets separate memory. */
const KEPT_UNITS = 65_536

const kept = new Uint16Array(KEPT_UNITS)
const keptBytes = Buffer.from(kept.buffer)

/** Valid until the next call; only the first `text.length` units belong to the text. */
export function readCodeUnits(text: string): Uint16Array {
  const units = text.length > KEPT_UNITS ? new Uint16Array(text.length) : kept
  const bytes = units === kept ? keptBytes : Buffer.from(units.buffer)
  bytes.write(text, 'utf16le')
  return units
}
