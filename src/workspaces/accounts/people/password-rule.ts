/**
 * The rule for new passwords: a minimum length, and nothing that a guesser tries first. These are words such as
 * `password`, the address and the name of the user, and rows of characters. What is typed besides such words must not be
 * only digits and signs. Pure.
 */
import { Refusal } from '../../../base/mail/refusal.js'

/** Characters. Attempts are limited, so guessing is slow. */
export const MIN_PASSWORD_LENGTH = 12

export interface PasswordOwner {
  readonly email: string
  readonly fullName: string
}

const commonWords = [
  ...['password', 'passwort', 'passw0rd', 'passphrase', 'secret', 'letmein', 'welcome', 'changeme', 'iloveyou'],
  ...['qwerty', 'qwertz', 'azerty', 'admin', 'administrator', 'postmaster', 'posthorn', 'monkey', 'dragon'],
]

/** Shorter parts of a name or an address are parts of other words too. */
const MIN_OWN_WORD = 3
/** Letters that must be left without such words. */
const MIN_OWN_LETTERS = 4
const MIN_DISTINCT = 5
/** The share of characters that continue a row, as in `abcdef` and `112233`. */
const MAX_ROW_SHARE = 0.6

/** Throws a Refusal `invalid-parameter` that says what is wrong. */
export function requireStrongPassword(password: string, owner: PasswordOwner): void {
  const fault = findFault(password.normalize('NFKC').toLowerCase(), owner)
  if (fault === null) return
  throw new Refusal('invalid-parameter', `password: ${fault}`, { field: 'password' })
}

function findFault(password: string, owner: PasswordOwner): string | null {
  const characters = [...password]
  if (characters.length < MIN_PASSWORD_LENGTH) return `must have at least ${MIN_PASSWORD_LENGTH} characters`
  if (new Set(characters).size < MIN_DISTINCT || isRow(characters)) {
    return 'must not be a row of characters, which is easy to guess: choose a few words that do not belong together'
  }
  if (!consistsOf(password, listOwnWords(owner))) return null
  return 'must not be only a common word, your address or your name: choose a few words that do not belong together'
}

function isRow(characters: readonly string[]): boolean {
  const codes = characters.map((character) => character.codePointAt(0) ?? 0)
  const steps = codes.slice(1).map((code, place) => Math.abs(code - (codes[place] ?? 0)))
  return steps.filter((step) => step <= 1).length > steps.length * MAX_ROW_SHARE
}

function listOwnWords({ email, fullName }: PasswordOwner): readonly string[] {
  return `${email} ${fullName}`
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= MIN_OWN_WORD)
}

/** Whether these words, or common ones, are in it, and hardly a letter besides. */
function consistsOf(password: string, ownWords: readonly string[]): boolean {
  const words = [...commonWords, ...ownWords].toSorted((one, other) => other.length - one.length)
  const rest = words.reduce((text, word) => text.replaceAll(word, ' '), password)
  return rest !== password && (rest.match(/\p{L}/gu) ?? []).length < MIN_OWN_LETTERS
}
