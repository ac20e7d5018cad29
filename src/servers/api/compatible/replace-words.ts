/** Replaces words of a text by values. */
import { Refusal } from '../../../base/mail/refusal.js'
import { checkSize } from '../../../outbound/sending/composed-size.js'
import type { RequestedBody } from '../../../outbound/sending/message-content.js'
import { bodyText } from '../emails/email-fields.js'
import { parseInput } from '../http/input/parse-input.js'

/** Words times characters that one text may cost: a search for each word reads the whole text. */
const MAX_WORK = 5_000_000
/** Places of words in a text, as of variables in a template. */
const MAX_PLACES = 5_000

/** The words of a body, of which a long one is bytes. */
export function replaceInBody(
  body: RequestedBody | undefined,
  words: Readonly<Record<string, string>>,
): RequestedBody | undefined {
  if (body === undefined || Object.keys(words).length === 0) return body
  return parseInput(bodyText, replaceWords(body.toString(), words))
}

interface Place {
  readonly at: number
  readonly word: string
}

/**
 * Replaces each word by its value; a word in a value is not replaced again. Of words that overlap, the first counts,
 * and of those that begin at one place the longest. Throws a Refusal `invalid-parameter` for too many words in too
 * long a text, and `too-large` for a text that becomes too long.
 */
export function replaceWords(text: string, words: Readonly<Record<string, string>>): string {
  const names = Object.keys(words).filter((word) => word !== '')
  if (names.length * text.length > MAX_WORK) throw tooManyRefusal(`${names.length} words`, text)
  const places = findPlaces(text, names)
  checkSize(places.reduce((sum, { word }) => sum + (words[word]?.length ?? 0), text.length))
  const pieces: string[] = []
  let end = 0
  for (const { at, word } of places) {
    if (at < end) continue
    pieces.push(text.slice(end, at), words[word] ?? '')
    end = at + word.length
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(end)
}

function findPlaces(text: string, words: readonly string[]): readonly Place[] {
  const places: Place[] = []
  for (const word of words) {
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + word.length)) {
      places.push({ at, word })
      if (places.length > MAX_PLACES) throw tooManyRefusal(`words in more than ${MAX_PLACES} places`, text)
    }
  }
  return places.sort((a, b) => a.at - b.at || b.word.length - a.word.length)
}

function tooManyRefusal(what: string, { length }: string): Refusal {
  const message = `substitutions: ${what} of a text of ${length} characters are too many: use a template`
  return new Refusal('invalid-parameter', message, { field: 'substitutions', value: length })
}
