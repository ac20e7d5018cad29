/** Replaces words of a text by values. */
import { Refusal } from '../../../base/mail/refusal.js'

/** Words times characters that one text may cost: a search for each word reads the whole text. */
const MAX_WORK = 20_000_000

interface Place {
  readonly at: number
  readonly word: string
}

/**
 * Replaces each word by its value; a word in a value is not replaced again. Of words that overlap, the first counts,
 * and of those that begin at one place the longest. Throws a Refusal `invalid-parameter` for too many words in too
 * long a text.
 */
export function replaceWords(text: string, words: Readonly<Record<string, string>>): string {
  const names = Object.keys(words).filter((word) => word !== '')
  if (names.length * text.length > MAX_WORK) {
    const message = `substitutions: ${names.length} words in ${text.length} characters are too many: use a template`
    throw new Refusal('invalid-parameter', message, { field: 'substitutions', value: names.length })
  }
  const pieces: string[] = []
  let end = 0
  for (const { at, word } of findPlaces(text, names)) {
    if (at < end) continue
    pieces.push(text.slice(end, at), words[word] ?? '')
    end = at + word.length
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(end)
}

function findPlaces(text: string, words: readonly string[]): readonly Place[] {
  const places: Place[] = []
  for (const word of words) {
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + word.length)) places.push({ at, word })
  }
  return places.sort((a, b) => a.at - b.at || b.word.length - a.word.length)
}
