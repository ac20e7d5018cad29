/**
 * Characters that mail addresses may have beyond ASCII, and which one is at fault.
 *
 * Local parts (RFC 6531): letters, marks, digits and symbols. Typographic punctuation and characters that are not seen
 * come from word processors and web pages, never from a mailbox. Labels of domains: those of IDNA2008 (RFC 5892), by
 * their general categories.
 */
import { domainToASCII, domainToUnicode } from 'node:url'

/**
 * They are not seen, or seen as a blank: default ignorable ones, format and control characters, the blank of Braille.
 */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800]/u
const localCharacter = /^[\p{L}\p{M}\p{N}\p{Sm}\p{Sc}\p{So}]$/u
/** The joiners U+200C and U+200D have a meaning within words of some scripts: `domainToASCII` checks their context. */
const joiner = /[\u200c\u200d]/
const labelCharacter = /^[a-z0-9\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\u00b7\u0375\u05f3\u05f4\u30fb-]$/u

/** May all characters of this local part beyond ASCII stand in an address? */
export function hasLocalCharactersOnly(local: string): boolean {
  return findLocalCharacter(local) === null
}

/** `domain` is the text as it was written. Mapping its characters to others would drop those that are not seen. */
export function hasVisibleCharactersOnly(domain: string): boolean {
  return findHiddenCharacter(domain) === null
}

/** `label` is in lower-case ASCII. True if it is no A-label, or a valid one. */
export function isValidLabel(label: string): boolean {
  return !label.startsWith('xn--') || findLabelFault(label) === null
}

/** The predicate of a sentence if `text` has a lone surrogate, which UTF-8 cannot write; otherwise null. */
export function explainSurrogate(text: string): string | null {
  return text.isWellFormed() ? null : 'has half of a surrogate pair: send each character whole'
}

/** Why `text` is no mail address, as the predicate of a sentence. Null if these rules know of no reason. */
export function explainAddressFault(text: string): string | null {
  const shown = text.slice(0, MAX_EXPLAINED)
  const at = shown.lastIndexOf('@')
  const domain = shown.slice(at + 1)
  const character = findLocalCharacter(shown.slice(0, Math.max(at, 0))) ?? findHiddenCharacter(domain)
  if (character !== null) return `has ${describe(character)}, which no address has`
  const labels = domainToASCII(domain.toLowerCase())
  if (labels === '' && domain !== '') return explainRefusedDomain(domain)
  for (const label of labels.split('.')) {
    const fault = label.startsWith('xn--') ? findLabelFault(label) : null
    if (fault !== null) return `${fault}, which no domain name has (IDNA2008)`
  }
  return null
}

/** Explains why `domainToASCII` does not take a domain. */
function explainRefusedDomain(domain: string): string | null {
  for (const character of domain) {
    if (character > '\x7f' && !labelCharacter.test(character.normalize('NFKC').toLowerCase()))
      return `has ${describe(character)}, which no domain name has (IDNA2008)`
  }
  const isForeign = /[^\p{ASCII}]/u.test(domain)
  return isForeign ? 'has characters in its domain that may not stand together or in their place (IDNA2008)' : null
}

/** Characters; addresses are shorter. */
const MAX_EXPLAINED = 400

function findLocalCharacter(local: string): string | null {
  for (const character of local) {
    if ((character > '\x7f' || character < ' ') && (invisible.test(character) || !localCharacter.test(character)))
      return character
  }
  return null
}

function findHiddenCharacter(domain: string): string | null {
  for (const character of domain) if (invisible.test(character) && !joiner.test(character)) return character
  return null
}

/** The fault, as the predicate `has …`, or null if there is none. */
function findLabelFault(label: string): string | null {
  const decoded = domainToUnicode(label)
  for (const character of decoded) {
    if (!labelCharacter.test(character) && !joiner.test(character)) return `has ${describe(character)}`
  }
  const misplaced = misplacedCharacter.exec(decoded)?.[0] ?? (isDotOfKana(decoded) ? '\u30fb' : null)
  if (misplaced !== null) return `has ${describe(misplaced)} in a wrong place`
  return decoded === label || domainToASCII(decoded) !== label ? `has the label ${label.slice(0, 63)}` : null
}

/** Characters that need others next to them (RFC 5892, appendix A.3 to A.6), where these are missing. */
const misplacedCharacter = /(?<!l)\u00b7|\u00b7(?!l)|\u0375(?!\p{Script=Greek})|(?<!\p{Script=Hebrew})[\u05f3\u05f4]/u

/** The dot of Katakana needs Hiragana, Katakana or Han in its label (appendix A.7). */
function isDotOfKana(label: string): boolean {
  return label.includes('\u30fb') && !/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(label)
}

/** The character itself only if it can be seen. */
function describe(character: string): string {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
  const isSeen = !invisible.test(character) && !/[\p{C}\p{Z}\p{M}]/u.test(character)
  return isSeen ? `the character ${character} (${code})` : `the character ${code}, which is not seen`
}
