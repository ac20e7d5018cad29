/**
 * The rule for new passwords: a minimum length, and nothing that a guesser tries first. These are some hundred common words
 * such as `password`, the address and the name of the user, rows of keys, rows of characters and repetitions. What is typed
 * besides such words and rows must not be only digits and signs. Case, accents, separators and signs that look like
 * letters make no difference. Pure.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import { commonWords, keyRows } from './guessed-words.js'

/** Characters. Attempts are limited, so guessing is slow. */
export const MIN_PASSWORD_LENGTH = 12

export interface PasswordOwner {
  readonly email: string
  readonly fullName: string
}

/** Shorter parts of a name or an address are parts of other words too. */
const MIN_OWN_WORD = 3
/** Shorter parts of a row of keys are parts of words too. */
const MIN_KEYS = 4
/** Letters that must be left without such words. */
const MIN_OWN_LETTERS = 4
const MIN_DISTINCT = 5
/** The share of characters that continue a row, as in `abcdef` and `112233`. */
const MAX_ROW_SHARE = 0.6

const cure = 'choose a few words that do not belong together'

/** Throws a Refusal `invalid-parameter` that says what is wrong. */
export function requireStrongPassword(password: string, owner: PasswordOwner): void {
  const fault = findFault(password, owner)
  if (fault === null) return
  throw new Refusal('invalid-parameter', `password: ${fault}`, { field: 'password' })
}

function findFault(password: string, owner: PasswordOwner): string | null {
  if ([...password.normalize('NFKC')].length < MIN_PASSWORD_LENGTH) {
    return `must have at least ${MIN_PASSWORD_LENGTH} characters`
  }
  const characters = [...toPlain(password)].filter((character) => !/[\s\-_.,;:/|]/.test(character))
  if (new Set(characters).size < MIN_DISTINCT || isRow(characters)) {
    return `must not be a row of characters, which is easy to guess: ${cure}`
  }
  if (consistsOf(characters, [...commonWords, ...keyRuns, ...listOwnWords(owner)])) {
    return `must not be only a common word, a row of keys, your address or your name: ${cure}`
  }
  const isRepetition = findPeriod(characters) < Math.min(MIN_PASSWORD_LENGTH, characters.length)
  return isRepetition ? `must not repeat a few characters, which is easy to guess: ${cure}` : null
}

/** Returns the text in lower case, without accents. */
function toPlain(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').normalize('NFC').toLowerCase()
}

function isRow(characters: readonly string[]): boolean {
  const codes = characters.map((character) => character.codePointAt(0) ?? 0)
  const steps = codes.slice(1).map((code, place) => Math.abs(code - (codes[place] ?? 0)))
  return steps.filter((step) => step <= 1).length > steps.length * MAX_ROW_SHARE
}

/** The length of the piece of which they are repetitions, at least two, the last of them perhaps in part. Else the length of all. */
function findPeriod(characters: readonly string[]): number {
  const half = Math.floor(characters.length / 2)
  for (let period = 1; period <= Math.min(half, MIN_PASSWORD_LENGTH); period += 1) {
    if (characters.every((character, at) => at < period || character === characters[at - period])) return period
  }
  return characters.length
}

function listOwnWords({ email, fullName }: PasswordOwner): readonly string[] {
  return toPlain(`${email} ${fullName}`)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= MIN_OWN_WORD)
}

/** The shortest parts of rows that count. Longer ones consist of them. */
const keyRuns: readonly string[] = keyRows
  .flatMap((row) => [row, [...row].toReversed().join('')])
  .flatMap((row) => Array.from({ length: row.length - MIN_KEYS + 1 }, (_, at) => row.slice(at, at + MIN_KEYS)))

/** Signs and digits that stand for letters. The digit 1 and the exclamation mark stand for two. */
const lookalikes = { '@': 'a', '4': 'a', '3': 'e', '0': 'o', $: 's', '5': 's', '7': 't' } as const
const readings: readonly Readonly<Record<string, string>>[] = [
  {},
  { ...lookalikes, '1': 'i', '!': 'i' },
  { ...lookalikes, '1': 'l', '!': 'l' },
]

/** Whether these words are in it, and hardly a letter besides. */
function consistsOf(characters: readonly string[], words: readonly string[]): boolean {
  const left = new Set(characters.keys())
  for (const reading of readings) {
    // One unit for each character, so that a place in the text is one in the list.
    const text = characters.map((character) => (reading[character] ?? character).charAt(0)).join('')
    for (const word of words) {
      for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
        for (let place = at; place < at + word.length; place += 1) left.delete(place)
      }
    }
  }
  const letters = [...left].filter((place) => /\p{L}/u.test(characters[place] ?? ''))
  return left.size < characters.length && letters.length < MIN_OWN_LETTERS
}
