/**
 * Words of a text, as the classifier counts them.
 *
 * In lower case, of 3 to 24 characters; scripts without spaces between words are counted in pairs of letters. Of
 * longer runs only the first letter and the length in tens are kept, which is what base64 and other noise have in
 * common. One pass, linear; at most `limit` words. Most words are ASCII letters and digits alone: they are found without a
 * regular expression and given as places of the text, so that no string is made of each.
 */

const MIN_WORD_LENGTH = 3
const MAX_WORD_LENGTH = 24

/** Signs of money, haste and percent belong to words: they are typical of advertising. */
const runPattern = /[\p{L}\p{N}\p{M}$€£¥%!'’_.-]+/gu
const unsegmentedScripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
/** Punctuation at either end, except what ends an exclamation or begins a price. */
const edgePunctuation = /^['’_.!-]+|(?<!['’_.-])['’_.-]+$/g

/** Gets the words of a text, in their order. */
export interface WordReader {
  /** No more words are read. */
  readonly isFull: boolean
  readonly addWord: (word: string) => void
  /** A word of ASCII letters and digits, which is not in lower case yet. */
  readonly addPlainWord: (text: string, start: number, end: number) => void
}

const SEPARATOR = 0
const PLAIN = 1
const SIGN = 2
/** Only the pattern tells. */
const UNKNOWN = 3

/** By code: what an ASCII character is to `runPattern`. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[A-Za-z0-9]/.test(character)) return PLAIN
  return /[$%!'_.-]/.test(character) ? SIGN : SEPARATOR
})

export function readWords(text: string, limit: number, reader: WordReader): void {
  let left = limit
  for (let at = 0; at < text.length && left > 0 && !reader.isFull; ) {
    if (kindAt(text, at) === SEPARATOR) {
      at += 1
      continue
    }
    const start = at
    at = findEndOf(text, start, PLAIN)
    const isPlain = kindAt(text, at) === SEPARATOR
    if (isPlain && at - start < MIN_WORD_LENGTH) continue
    if (isPlain && at - start <= MAX_WORD_LENGTH) {
      reader.addPlainWord(text, start, at)
      left -= 1
      continue
    }
    at = findEndOf(text, at, SIGN)
    if (kindAt(text, at) === UNKNOWN) {
      runPattern.lastIndex = start
      const found = runPattern.exec(text)
      if (found === null) return
      at = runPattern.lastIndex
      left -= addRun(found[0], left, reader)
    } else left -= addRun(text.slice(start, at), left, reader)
  }
}

/** The end of the text is a separator. */
function kindAt(text: string, at: number): number {
  if (at >= text.length) return SEPARATOR
  const code = text.charCodeAt(at)
  return code < 128 ? (kinds[code] ?? UNKNOWN) : UNKNOWN
}

/** `kind`: PLAIN, or SIGN for both. */
function findEndOf(text: string, start: number, kind: number): number {
  let at = start
  for (;;) {
    const found = kindAt(text, at)
    if (found === SEPARATOR || found > kind) return at
    at += 1
  }
}

/** How many words it was. */
function addRun(found: string, limit: number, reader: WordReader): number {
  if (found.length <= 100 && unsegmentedScripts.test(found)) {
    const pairs = toBigrams(found, limit)
    for (const pair of pairs) reader.addWord(pair)
    return pairs.length
  }
  const word = found.length > 100 ? `skip:${found.slice(0, 1)}` : normalizeWord(found)
  if (word === null) return 0
  reader.addWord(word)
  return 1
}

export function splitWords(text: string, limit: number): string[] {
  const words: string[] = []
  readWords(text, limit, {
    isFull: false,
    addWord: (word) => words.push(word),
    addPlainWord: (source, start, end) => words.push(source.slice(start, end).toLowerCase()),
  })
  return words
}

function normalizeWord(found: string): string | null {
  const word = found
    .replace(edgePunctuation, '')
    .replace(/(?<!!)!{2,}$/, '!!')
    .toLowerCase()
  if (word.length < MIN_WORD_LENGTH) return null
  if (word.length <= MAX_WORD_LENGTH) return word
  return `skip:${word.slice(0, 1)}${Math.floor(word.length / 10)}`
}

function toBigrams(found: string, limit: number): string[] {
  const letters = [...found.slice(0, limit + 1)]
  return letters.slice(0, -1).map((letter, at) => `${letter}${letters[at + 1] ?? ''}`)
}
