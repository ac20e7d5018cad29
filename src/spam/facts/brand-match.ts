/**
 * Which brands a name or a subject speaks of, which domains are theirs, and which are made to look so.
 *
 * Everything is compared by its skeleton (as Unicode TS 39 has it, and what fraud does besides): letters
 * of other alphabets as what they look like, without accents, 0 as o, 1, i and | as l, `rn` as m.
 *
 * Limits: the first 200 characters of a name, hosts of 253; a name is looked up, never searched for
 * brand by brand, save among those that begin alike.
 */
import { domainToUnicode } from 'node:url'
import { type Brand, brands, sharedNames } from './brands.js'
import { isCompanySuffix, isFreeMail, isGuardedSuffix, registeredLabel } from './host-kinds.js'
import { looksFolded } from './script-facts.js'

const MAX_NAME = 200
const MAX_HOST = 253
const MAX_WORDS = 4
/** A name of fewer letters begins too many words. */
const LEAST_BEGINNING = 6
/** In shorter words one letter makes another word. */
const LEAST_SIMILAR = 7

const digits: Readonly<Record<string, string>> = { 0: 'o', 1: 'l', 3: 'e', 4: 'a', 5: 's', 7: 't', i: 'l', '|': 'l' }

function skeleton(text: string): string {
  return looksFolded(text.slice(0, MAX_NAME))
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[013457i|]/g, (letter) => digits[letter] ?? letter)
    .replace(/rn/g, 'm')
    .replace(/vv/g, 'w')
}

const split = (text: string): readonly string[] => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
const joined = (text: string): string => split(text).join('')

interface Entry {
  readonly brand: Brand
  /** As it is written, without blanks. */
  readonly plain: string
}

const byName = new Map<string, Entry>(
  brands.flatMap((brand) =>
    brand.names.map((name) => [joined(skeleton(name)), { brand, plain: joined(name) }] as const),
  ),
)
const longest = Math.max(...[...byName.keys()].map((name) => name.length))
/** Whose names may be misspelt: by their first letter. */
const similar: ReadonlyMap<string, readonly string[]> = byFirstLetter(
  [...byName].flatMap(([name, { brand }]) => (brand.common || name.length < LEAST_SIMILAR ? [] : [name])),
)

function byFirstLetter(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const letters = new Set(names.map((name) => name.slice(0, 1)))
  return new Map([...letters].map((letter) => [letter, names.filter((name) => name.startsWith(letter))]))
}

export interface BrandFound {
  readonly brand: Brand
  /** Written with other letters than its own. */
  readonly disguised: boolean
}

/** Words beside which a common word is the name of a company that writes. */
const service =
  /\b(?:support|security|secure|accounts?|billing|team|services?|alerts?|notifications?|notice|customers?|help|helpdesk|care|cent(?:er|re)|bank(?:ing)?|updates?|verification|verify|no-?reply|rewards?|gift|survey|store|id|payments?|invoice|delivery|shipping|parcel|package|tracking|online|login|admin(?:istrator)?|kundenservice|sicherheit|seguridad|soporte|suporte|atendimento|servi[zc]io|assistenza|s[ée]curit[ée]|clients?|klantenservice|wallet|card|prime|membership|subscription)\b/i

export function hasServiceWord(text: string): boolean {
  return service.test(text.slice(0, MAX_NAME))
}

export function brandsIn(text: string): readonly BrandFound[] {
  const shown = text.slice(0, MAX_NAME)
  const plain = joined(shown.toLowerCase())
  const words = split(skeleton(shown)).slice(0, 40)
  const found = new Map<Brand, BrandFound>()
  const serves = hasServiceWord(shown)
  for (let from = 0; from < words.length; from += 1) {
    for (let count = 1; count <= MAX_WORDS && from + count <= words.length; count += 1) {
      const entry = byName.get(words.slice(from, from + count).join(''))
      if (entry === undefined || (entry.brand.common && !serves) || found.has(entry.brand)) continue
      found.set(entry.brand, { brand: entry.brand, disguised: isDisguise(entry, plain) })
    }
  }
  return [...found.values()]
}

function isDisguise({ brand, plain }: Entry, shown: string): boolean {
  return (
    !brand.common && plain.length >= LEAST_BEGINNING && !shown.normalize('NFD').replace(/\p{M}/gu, '').includes(plain)
  )
}

/** Free mailboxes of a brand's domain are anybody's. */
export function isOwnDomain(brand: Brand, host: string): boolean {
  if (isFreeMail(host)) return false
  return isGuarded(host) && brand.labels.has(registeredLabel(host))
}

const isGuarded = (host: string): boolean => isGuardedSuffix(host) || isCompanySuffix(host)

/** The brand whose domain it is; null: it is none's. */
export function ownerOf(host: string): Brand | null {
  const owner = byLabel.get(registeredLabel(host))
  return owner !== undefined && isOwnDomain(owner, host) ? owner : null
}

const byLabel: ReadonlyMap<string, Brand> = new Map(
  brands.flatMap((brand) => [...brand.labels].map((label) => [label, brand] as const)),
)

/** A bank's name that many houses bear, in a name, without it in the domain. */
export function poseAsSharedName(name: string, host: string): boolean {
  const shown = name.slice(0, MAX_NAME).toLowerCase()
  return [...sharedNames].some(
    (shared) => shown.includes(shared) && !/sparkasse|volksbank|raiffeisen|vrbank|vr-|ksk|^rb|-rb/.test(host),
  )
}

/** Whether a host bears a brand's name, or nearly, and is not that brand's. */
export function resemblesBrand(host: string): boolean {
  const name = host.slice(0, MAX_HOST)
  const written = /(?:^|\.)xn--/.test(name) ? domainToUnicode(name) : name
  const label = registeredLabel(written)
  if (label === '' || (byLabel.has(label) && isGuarded(name))) return false
  return labelResembles(label) || nestedName(written, label)
}

/** `paypal.com.example.net`: a brand's whole name as a label further down. */
function nestedName(host: string, label: string): boolean {
  const at = host.lastIndexOf(`${label}.`)
  return host
    .slice(0, Math.max(at, 0))
    .split('.')
    .some((one) => isDistinct(joined(skeleton(one))))
}

function isDistinct(name: string): boolean {
  const entry = byName.get(name)
  return entry !== undefined && !entry.brand.common && name.length >= LEAST_BEGINNING
}

function labelResembles(label: string): boolean {
  const bare = skeleton(label)
  const parts = split(bare)
  if (parts.length > 1 && partsResemble(parts, label)) return true
  const whole = parts.join('')
  return isDistinct(whole) || begins(whole) || misspelt(whole)
}

/** `paypal-login`: a part is the name; of a common word, beside a word of service. */
function partsResemble(parts: readonly string[], label: string): boolean {
  return parts.some((part) => {
    const entry = byName.get(part)
    return (
      entry !== undefined && part.length > 2 && (!entry.brand.common || hasServiceWord(label.replace(/[-_]/g, ' ')))
    )
  })
}

const followers = (
  'support secure security account billing team service alert notification customer help care center bank update ' +
  'verify verification reward online login signin mail web pay shop store id info app cloud'
)
  .split(' ')
  .map(skeleton)

const isServed = (rest: string): boolean => followers.some((word) => rest.startsWith(word))

/** `paypalsecure`, but not `amazonia`: what follows is a word of service. */
function begins(name: string): boolean {
  for (let length = LEAST_BEGINNING; length <= Math.min(longest, name.length - 2); length += 1) {
    if (isDistinct(name.slice(0, length)) && isServed(name.slice(length))) return true
  }
  return false
}

function misspelt(name: string): boolean {
  if (name.length < LEAST_SIMILAR - 1) return false
  return (similar.get(name.slice(0, 1)) ?? []).some((known) => differsByOne(known, name))
}

/** One letter more, less, other, or two that changed places. */
export function differsByOne(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  let at = 0
  while (at < short.length && short[at] === long[at]) at += 1
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1)
  if (short.slice(at + 1) === long.slice(at + 1)) return true
  return short[at] === long[at + 1] && short[at + 1] === long[at] && short.slice(at + 2) === long.slice(at + 2)
}
