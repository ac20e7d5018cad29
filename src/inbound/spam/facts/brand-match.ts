/**
 * Finds the brands that a name or a subject mentions, the domains that belong to them, and lookalike domains.
 *
 * Comparisons use skeletons (Unicode TS 39, and what fraud does besides): letters of other alphabets become the
 * letters that they look like, accents go, 0 becomes o, 1, i and | become l, `rn` becomes m.
 *
 * Limits: the first 200 characters of a name, hosts of 253. Brands are looked up in tables; only those with the
 * same first letter are compared one by one.
 */
import { domainToUnicode } from 'node:url'
import { type Brand, brands, sharedBankNames } from './brands.js'
import { isCompanySuffix, isFreeMail, isGuardedSuffix, registeredLabelOf } from './host-kinds.js'
import { foldConfusables } from './script-facts.js'

const MAX_NAME = 200
const MAX_HOST = 253
const MAX_WORDS = 4
/** Shorter names are the beginning of too many words. */
const MIN_PREFIX_LENGTH = 6
/** If a word is shorter, changing one letter makes another word. */
const MIN_TYPO_LENGTH = 7

const lookalikeDigits: Readonly<Record<string, string>> = {
  0: 'o',
  1: 'l',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  i: 'l',
  '|': 'l',
}

const nonAscii = /[\u0080-\uffff]/

function toSkeleton(text: string): string {
  const written = text.slice(0, MAX_NAME)
  return (nonAscii.test(written) ? foldConfusables(written).normalize('NFD').replace(/\p{M}/gu, '') : written)
    .toLowerCase()
    .replace(/[013457i|]/g, (letter) => lookalikeDigits[letter] ?? letter)
    .replace(/rn/g, 'm')
    .replace(/vv/g, 'w')
}

const splitWords = (text: string): readonly string[] => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
const joinWords = (text: string): string => splitWords(text).join('')

interface BrandEntry {
  readonly brand: Brand
  /** The name in its own spelling, without blanks. */
  readonly plain: string
}

const brandsByName = new Map<string, BrandEntry>(
  brands.flatMap((brand) =>
    brand.names.map((name) => [joinWords(toSkeleton(name)), { brand, plain: joinWords(name) }] as const),
  ),
)
const maxBrandLength = Math.max(...[...brandsByName.keys()].map((name) => name.length))
/** Brands by their first letter, to search for misspellings. */
const namesByFirstLetter: ReadonlyMap<string, readonly string[]> = Map.groupBy(
  [...brandsByName].flatMap(([name, { brand }]) => (brand.common || name.length < MIN_TYPO_LENGTH ? [] : [name])),
  (name) => name.slice(0, 1),
)

export interface BrandMatch {
  readonly brand: Brand
  /** The brand is written with lookalike letters. */
  readonly disguised: boolean
}

/** Next to one of these words, a common word is the name of a company. */
const serviceWords =
  /\b(?:support|security|secure|accounts?|billing|team|services?|alerts?|notifications?|notice|customers?|help|helpdesk|care|cent(?:er|re)|bank(?:ing)?|updates?|verification|verify|no-?reply|rewards?|gift|survey|store|id|payments?|invoice|delivery|shipping|parcel|package|tracking|online|login|admin(?:istrator)?|kundenservice|sicherheit|seguridad|soporte|suporte|atendimento|servi[zc]io|assistenza|s[ée]curit[ée]|clients?|klantenservice|wallet|card|prime|membership|subscription)\b/i

export function hasServiceWord(text: string): boolean {
  return serviceWords.test(text.slice(0, MAX_NAME))
}

export function findBrands(text: string): readonly BrandMatch[] {
  const shown = text.slice(0, MAX_NAME)
  const words = splitWords(toSkeleton(shown)).slice(0, 40)
  const matches = new Map<Brand, BrandMatch>()
  for (const entry of words.flatMap((_, from) => findEntriesAt(words, from))) {
    if (matches.has(entry.brand) || (entry.brand.common && !hasServiceWord(shown))) continue
    matches.set(entry.brand, { brand: entry.brand, disguised: isDisguised(entry, joinWords(shown.toLowerCase())) })
  }
  return [...matches.values()]
}

/** The beginnings of all brands' names, so that few words are looked up with those after them. */
const namePrefixes: ReadonlySet<string> = new Set(
  [...brandsByName.keys()].flatMap((name) => Array.from(name, (_, at) => name.slice(0, at + 1))),
)

function findEntriesAt(words: readonly string[], from: number): readonly BrandEntry[] {
  const entries: BrandEntry[] = []
  let name = ''
  for (const word of words.slice(from, from + MAX_WORDS)) {
    name += word
    if (!namePrefixes.has(name)) break
    const entry = brandsByName.get(name)
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

function isDisguised({ brand, plain }: BrandEntry, shown: string): boolean {
  return (
    !brand.common && plain.length >= MIN_PREFIX_LENGTH && !shown.normalize('NFD').replace(/\p{M}/gu, '').includes(plain)
  )
}

/** Mailboxes at a brand's free mail domain belong to anyone. */
export function isOwnDomain(brand: Brand, host: string): boolean {
  if (isFreeMail(host)) return false
  return hasGuardedSuffix(host) && brand.labels.has(registeredLabelOf(host))
}

const hasGuardedSuffix = (host: string): boolean => isGuardedSuffix(host) || isCompanySuffix(host)

/** The brand that owns the domain, or null. */
export function findBrandOfHost(host: string): Brand | null {
  const owner = brandsByLabel.get(registeredLabelOf(host))
  return owner !== undefined && isOwnDomain(owner, host) ? owner : null
}

const brandsByLabel: ReadonlyMap<string, Brand> = new Map(
  brands.flatMap((brand) => [...brand.labels].map((label) => [label, brand] as const)),
)

/** The name contains a bank name that many independent banks share, and the domain does not. */
export function isSharedNameMisused(name: string, host: string): boolean {
  const shown = name.slice(0, MAX_NAME).toLowerCase()
  return [...sharedBankNames].some(
    (shared) => shown.includes(shared) && !/sparkasse|volksbank|raiffeisen|vrbank|vr-|ksk|^rb|-rb/.test(host),
  )
}

/** Whether a host contains a brand's name, or nearly, and does not belong to that brand. */
export function isBrandLookalike(host: string): boolean {
  const name = host.slice(0, MAX_HOST)
  const written = /(?:^|\.)xn--/.test(name) ? domainToUnicode(name) : name
  const label = registeredLabelOf(written)
  if (label === '' || (brandsByLabel.has(label) && hasGuardedSuffix(name))) return false
  return isLookalikeLabel(label) || hasNestedBrand(written, label)
}

/** Matches `paypal.com.example.net`: a brand's complete name is a label further down. */
function hasNestedBrand(host: string, label: string): boolean {
  const at = host.lastIndexOf(`${label}.`)
  return host
    .slice(0, Math.max(at, 0))
    .split('.')
    .some((one) => isDistinctBrand(joinWords(toSkeleton(one))))
}

function isDistinctBrand(name: string): boolean {
  const entry = brandsByName.get(name)
  return entry !== undefined && !entry.brand.common && name.length >= MIN_PREFIX_LENGTH
}

function isLookalikeLabel(label: string): boolean {
  const bare = toSkeleton(label)
  const parts = splitWords(bare)
  if (parts.length > 1 && hasLookalikePart(parts, label)) return true
  const whole = parts.join('')
  return isDistinctBrand(whole) || isBrandWithSuffix(whole) || isTyposquat(whole)
}

/** Matches `paypal-login`: one part is the name. A common word needs a service word next to it. */
function hasLookalikePart(parts: readonly string[], label: string): boolean {
  return parts.some((part) => {
    const entry = brandsByName.get(part)
    return (
      entry !== undefined && part.length > 2 && (!entry.brand.common || hasServiceWord(label.replace(/[-_]/g, ' ')))
    )
  })
}

const serviceSuffixes = (
  'support secure security account billing team service alert notification customer help care center bank update ' +
  'verify verification reward online login signin mail web pay shop store id info app cloud'
)
  .split(' ')
  .map(toSkeleton)

const startsWithService = (rest: string): boolean => serviceSuffixes.some((word) => rest.startsWith(word))

/** Matches `paypalsecure`, but not `amazonia`: a service word follows the name. */
function isBrandWithSuffix(name: string): boolean {
  for (let length = MIN_PREFIX_LENGTH; length <= Math.min(maxBrandLength, name.length - 2); length += 1) {
    if (isDistinctBrand(name.slice(0, length)) && startsWithService(name.slice(length))) return true
  }
  return false
}

function isTyposquat(name: string): boolean {
  if (name.length < MIN_TYPO_LENGTH - 1) return false
  return (namesByFirstLetter.get(name.slice(0, 1)) ?? []).some((known) => isOneEditApart(known, name))
}

/** One letter added, removed or replaced, or two adjacent ones swapped. */
export function isOneEditApart(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  let at = 0
  while (at < short.length && short[at] === long[at]) at += 1
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1)
  if (short.slice(at + 1) === long.slice(at + 1)) return true
  return short[at] === long[at + 1] && short[at + 1] === long[at] && short.slice(at + 2) === long.slice(at + 2)
}
