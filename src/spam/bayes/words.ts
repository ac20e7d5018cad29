/**
 * Words of a text, as the classifier counts them.
 *
 * In lower case, of 3 to 24 characters; scripts without spaces between words are counted in pairs of letters. Of
 * longer runs only the first letter and the length in tens are kept, which is what base64 and other noise have in
 * common. One pass, linear; returns at most `limit` words.
 */

const MIN_WORD_LENGTH = 3
const MAX_WORD_LENGTH = 24

/** Signs of money, haste and percent belong to words: they are typical of advertising. */
const runPattern = /[\p{L}\p{N}\p{M}$€£¥%!'’_.-]+/gu
const unsegmentedScripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
/** Punctuation at either end, except what ends an exclamation or begins a price. */
const edgePunctuation = /^['’_.!-]+|(?<!['’_.-])['’_.-]+$/g

export function splitWords(text: string, limit: number): string[] {
  const words: string[] = []
  for (const [found] of text.matchAll(runPattern)) {
    if (words.length >= limit) break
    if (isPlainWord(found)) words.push(found.toLowerCase())
    else if (found.length > 100) words.push(`skip:${found.slice(0, 1)}`)
    else if (unsegmentedScripts.test(found)) words.push(...toBigrams(found, limit - words.length))
    else {
      const word = normalizeWord(found)
      if (word !== null) words.push(word)
    }
  }
  return words
}

/** Most are of ASCII letters and digits alone: nothing is to be taken off. */
function isPlainWord(found: string): boolean {
  if (found.length < MIN_WORD_LENGTH || found.length > MAX_WORD_LENGTH) return false
  for (let at = 0; at < found.length; at += 1) {
    const code = found.charCodeAt(at)
    const isLetter = (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
    if (!isLetter && !(code >= 0x30 && code <= 0x39)) return false
  }
  return true
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
