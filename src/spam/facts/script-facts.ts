/**
 * Games with letters: words that mix alphabets so as to look like others (Unicode TS 39),
 * letters of odd alphabets that stand for ASCII ones, characters that show nothing.
 */

/** Letters that look like an ASCII letter, the most used ones; a pair of each: what is written, what is read. */
const pairs = 'аaеeоoрpсcуyхxіiѕsјjԁdһhԛqԝwѵvɡgοoαaνvρpτtκkΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXАAВBЕEКKМMНHОOРPСCТTХXІIЅSЈJıi'
const lookalikes = new Map(Array.from({ length: pairs.length / 2 }, (_, at) => [pairs[2 * at], pairs[2 * at + 1]]))

/** Soft hyphen, zero-width characters, directional marks and overrides, the byte order mark. */
const unseen = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g
const reversal = /[\u202d\u202e]/

const word = /[\p{L}\p{M}\p{N}]{2,40}/gu
const latin = /\p{Script=Latin}/u
const alien = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u

/** As a reader takes it: letters that look like ASCII ones are those, what shows nothing is gone. */
export function asRead(text: string): string {
  const plain = text.normalize('NFKC').replace(unseen, '')
  if (!alien.test(plain)) return plain
  return plain.replace(word, (one) => (isMixed(one) ? fold(one) : one))
}

/** As `asRead`, and words wholly of another alphabet too, where each of their letters looks like an ASCII one. */
export function looksFolded(text: string): string {
  const plain = text.normalize('NFKC').replace(unseen, '')
  if (!alien.test(plain)) return plain
  return plain.replace(word, (one) => (isMixed(one) || isHomograph(one) ? fold(one) : one))
}

function fold(text: string): string {
  return text.replace(/./gu, (letter) => lookalikes.get(letter) ?? letter)
}

/** Words of Latin letters and of letters that look like them. */
export function mixedWords(text: string): number {
  if (!alien.test(text)) return 0
  return (text.match(word) ?? []).filter(isMixed).length
}

export function isMixed(one: string): boolean {
  return latin.test(one) && alien.test(one)
}

/** A name wholly of another alphabet that reads as an ASCII name. */
export function isHomograph(name: string): boolean {
  return alien.test(name) && /^[\x20-\x7e]*$/.test(fold(name))
}

/** Characters that show nothing and stand between letters of ASCII: there they join nothing. */
export function unseenInWords(text: string): number {
  return (text.match(/[a-z][\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{1,20}(?=[a-z])/gi) ?? []).length
}

export function turnsAround(text: string): boolean {
  return reversal.test(text)
}
