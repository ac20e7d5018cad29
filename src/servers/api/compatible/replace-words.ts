/** Replaces words of a text by values, in steps between which other work is done. */
import { StringDecoder } from 'node:string_decoder'
import { Refusal } from '../../../base/mail/refusal.js'
import { sharedTurns } from '../../../base/platform/shared-turns.js'
import { checkSize } from '../../../outbound/sending/composed-size.js'
import { LONG_BODY, type RequestedBody } from '../../../outbound/sending/message-content.js'

/** Words times characters that one text may cost: a search for each word reads the whole text. */
const MAX_WORK = 5_000_000
/** Places of words in a text, as of variables in a template. */
const MAX_PLACES = 5_000
/** Characters. In the worst case a search compares each of them at each place of the text. */
const MAX_WORD = 256
/** Characters that one step reads. With the longest word it takes a few milliseconds. */
const STEP = 65_536

/** Bytes, or characters, that one step decodes or encodes. */
const ENCODED_AT_ONCE = 1_048_576

type Words = Readonly<Record<string, string>>

/** The words of a body, of which a long one is bytes. */
export async function replaceInBody(body: RequestedBody | undefined, words: Words): Promise<RequestedBody | undefined> {
  if (body === undefined || Object.keys(words).length === 0) return body
  const replaced = await replaceWords(typeof body === 'string' ? body : await decode(body), words)
  return replaced.length > LONG_BODY ? encode(replaced) : replaced
}

async function decode(bytes: Buffer): Promise<string> {
  const decoder = new StringDecoder('utf8')
  let text = ''
  for (let at = 0; at < bytes.length; at += ENCODED_AT_ONCE) {
    const piece = bytes.subarray(at, at + ENCODED_AT_ONCE)
    text += await sharedTurns.take(() => decoder.write(piece))
  }
  return text + decoder.end()
}

async function encode(text: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let at = 0; at < text.length; ) {
    const isPair = /[\ud800-\udbff]/.test(text.charAt(at + ENCODED_AT_ONCE - 1))
    const piece = text.slice(at, at + ENCODED_AT_ONCE + (isPair ? 1 : 0))
    pieces.push(await sharedTurns.take(() => Buffer.from(piece)))
    at += piece.length
  }
  return sharedTurns.take(() => Buffer.concat(pieces))
}

interface Place {
  readonly at: number
  readonly word: string
}

/**
 * Replaces each word by its value; a word in a value is not replaced again. Of words that overlap, the first counts,
 * and of those that begin at one place the longest. Rejects with a Refusal `invalid-parameter` for too many words in too
 * long a text or for too long a word, and `too-large` for a text that becomes too long.
 */
export async function replaceWords(text: string, words: Words): Promise<string> {
  const names = Object.keys(words).filter((word) => word !== '')
  if (names.length * text.length > MAX_WORK) throw tooManyRefusal(`${names.length} words`, text)
  const long = names.find((word) => word.length > MAX_WORD)
  if (long !== undefined) throw tooLongRefusal(long)
  const places = await findPlaces(text, names)
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

async function findPlaces(text: string, words: readonly string[]): Promise<readonly Place[]> {
  const search = new Search(text, words)
  while (!search.isDone) await sharedTurns.take(() => search.step())
  return search.places.sort((a, b) => a.at - b.at || b.word.length - a.word.length)
}

/** Looks for one word after the other. */
class Search {
  readonly places: Place[] = []
  /** The word that is looked for, and where in the text. */
  private current = 0
  private from = 0

  constructor(
    private readonly text: string,
    private readonly words: readonly string[],
  ) {}

  get isDone(): boolean {
    return this.current >= this.words.length
  }

  step(): void {
    for (let left = STEP; left > 0 && !this.isDone; ) left -= this.read(left)
  }

  /** Adds the places that begin within the next `limit` characters. Returns how many characters were read, at least one. */
  private read(limit: number): number {
    const { text, from } = this
    const word = this.words[this.current] ?? ''
    const end = from + limit
    const part = text.slice(from, end + word.length - 1)
    let next = 0
    for (let at = part.indexOf(word); at !== -1; at = part.indexOf(word, next)) {
      this.places.push({ at: from + at, word })
      next = at + word.length
      if (this.places.length > MAX_PLACES) throw tooManyRefusal(`words in more than ${MAX_PLACES} places`, text)
    }
    this.from = Math.max(end, from + next)
    if (this.from + word.length > text.length) this.begin(this.current + 1)
    return part.length + 1
  }

  private begin(word: number): void {
    this.current = word
    this.from = 0
  }
}

function tooManyRefusal(what: string, { length }: string): Refusal {
  const message = `substitutions: ${what} of a text of ${length} characters are too many: use a template`
  return new Refusal('invalid-parameter', message, { field: 'substitutions', value: length })
}

function tooLongRefusal({ length }: string): Refusal {
  const message = `substitutions: a word has ${length} characters, allowed: ${MAX_WORD}; use a shorter one`
  return new Refusal('invalid-parameter', message, { field: 'substitutions', value: length })
}
