/**
 * Tricks with letters: words that mix alphabets to look like other words (Unicode TS 39), unusual letters in place
 * of ASCII ones, invisible characters.
 */

/** The most used letters that look like an ASCII letter, in pairs: the letter, and what it looks like. */
const confusablePairs =
  'аaеeоoрpсcуyхxіiѕsјjԁdһhԛqԝwѵvɡgοoαaνvρpτtκkΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXАAВBЕEКKМMНHОOРPСCТTХXІIЅSЈJıi'
const confusables = new Map(
  Array.from({ length: confusablePairs.length / 2 }, (_, at) => [confusablePairs[2 * at], confusablePairs[2 * at + 1]]),
)

/** Soft hyphen, zero-width characters, directional marks and overrides, the byte order mark. */
const invisibleCharacters = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g
const directionOverrides = /[\u202d\u202e]/

const wordPattern = /[\p{L}\p{M}\p{N}]{2,40}/gu
const latinLetter = /\p{Script=Latin}/u
const confusableLetter = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u

/**
 * Writes a text in the form that a person reads: it replaces lookalikes of ASCII letters by these, and removes
 * invisible characters.
 */
export function foldMixedWords(text: string): string {
  const plain = text.normalize('NFKC').replace(invisibleCharacters, '')
  if (!confusableLetter.test(plain)) return plain
  return plain.replace(wordPattern, (one) => (isMixedScript(one) ? foldLetters(one) : one))
}

/**
 * Does what `foldMixedWords` does. It also folds words entirely of another alphabet if each of their letters looks like
 * an ASCII one.
 */
export function foldConfusables(text: string): string {
  const plain = text.normalize('NFKC').replace(invisibleCharacters, '')
  if (!confusableLetter.test(plain)) return plain
  return plain.replace(wordPattern, (one) => (isMixedScript(one) || isHomograph(one) ? foldLetters(one) : one))
}

function foldLetters(text: string): string {
  return text.replace(/./gu, (letter) => confusables.get(letter) ?? letter)
}

/** Words that mix Latin letters and letters that look like them. */
export function countMixedWords(text: string): number {
  if (!confusableLetter.test(text)) return 0
  return (text.match(wordPattern) ?? []).filter(isMixedScript).length
}

export function isMixedScript(one: string): boolean {
  return latinLetter.test(one) && confusableLetter.test(one)
}

/** A name entirely of another alphabet that reads as an ASCII name. */
export function isHomograph(name: string): boolean {
  return confusableLetter.test(name) && /^[\x20-\x7e]*$/.test(foldLetters(name))
}

/** Invisible characters between ASCII letters, where they join nothing. */
export function countInvisibleInWords(text: string): number {
  return (text.match(/[a-z][\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{1,20}(?=[a-z])/gi) ?? []).length
}

export function hasDirectionOverride(text: string): boolean {
  return directionOverrides.test(text)
}
