/**
 * Finds the word that was probably meant, for messages such as `did you mean "scheduled_for"?`.
 *
 * The distance is that of Levenshtein, with a swap of two neighbours as one step. Case, `_` and `-` do not count. A word
 * may differ in a third of its letters, and in one letter if it is short.
 */

/** Longer words get no suggestion, so that the work is bounded. */
const MAX_LENGTH = 60

/** The closest of `known`, or null if none is close. */
export function findClosestWord(given: string, known: Iterable<string>): string | null {
  if (given.length > MAX_LENGTH) return null
  const word = normalize(given)
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    if (candidate.length > MAX_LENGTH) continue
    const distance = distanceOf(word, normalize(candidate), bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** `; did you mean "word"?`, or nothing. */
export function suggestWord(given: string, known: Iterable<string>): string {
  const found = findClosestWord(given, known)
  return found === null ? '' : `; did you mean "${found}"?`
}

function normalize(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, '')
}

/** `limit` or more if the words are further apart. */
function distanceOf(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) >= limit) return limit
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1]
      const isSwap = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const changed = (row[j - 1] ?? 0) + (isSame ? 0 : 1)
      const swapped = isSwap ? (before[j - 2] ?? limit) + 1 : limit
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, changed, swapped))
    }
    before = row
    row = next
  }
  return row[other.length] ?? limit
}
