/**
 * Rewrites envelope senders of forwarded mail by the Sender Rewriting Scheme (SRS), so that SPF passes for the mail host and
 * a bounce finds its way back. The form is `SRS0=hash=day=domain=local@<mail host>`. If a forwarder before us has rewritten
 * the sender already, it is `SRS1=hash=first==…`, so that the address does not grow with each forwarder.
 *
 * The hash is 30 bits of HMAC-SHA256 over all parts in lower case: some servers change the case of an address. The day
 * is that of the forwarding, modulo 1,024, in base32; only SRS0 has it, because the first forwarder checks the age.
 *
 * Limit: a sender whose address would be longer than 64 octets, quoted or not ASCII cannot be rewritten.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import {
  type Address,
  type DomainName,
  domainOf,
  localPartOf,
  tryParseAddress,
  tryParseDomainName,
  tryParseForeignAddress,
} from './address.js'
import { encodeBase32 } from './base32.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const HASH_CHARS = 6
const DAY = 86_400_000
/** Days that a day code can tell apart. */
const DAY_CODES = 1_024
/** Days in which a bounce is accepted. */
const MAX_AGE = 21

const PREFIX = /^SRS[01][=+-]/i

/** Whether the address has the form of a rewritten one, ours or not. */
export function looksRewritten(localPart: string): boolean {
  return PREFIX.test(localPart)
}

/** Null if the sender cannot be rewritten. `at` is the time of the forwarding, in epoch milliseconds. */
export function createForwardedSender(
  secret: KeyObject,
  sender: Address,
  host: DomainName,
  at: number,
): Address | null {
  const localPart = localPartOf(sender)
  if (localPart.startsWith('"') || /[^\x21-\x7e]/.test(localPart)) return null
  const [rewritten, version = '0', rest = ''] = /^SRS([01])([=+-].*)$/i.exec(localPart) ?? []
  if (rewritten === undefined) {
    const day = encodeDay(at)
    const domain = domainOf(sender)
    return tryParseAddress(`SRS0=${hashOf(secret, [day, domain, localPart])}=${day}=${domain}=${localPart}@${host}`)
  }
  const onward = version === '0' ? { first: domainOf(sender), tail: rest } : readFirst(rest.slice(1))
  if (onward === null) return null
  const { first, tail } = onward
  return tryParseAddress(`SRS1=${hashOf(secret, [first, tail])}=${first}=${tail}@${host}`)
}

/** The sender that a rewritten local part of ours names. Null if it is not ours, or too old. */
export function senderOfForwarded(secret: KeyObject, localPart: string, now: number): Address | null {
  if (!looksRewritten(localPart) || localPart.length > 64) return null
  const version = localPart.charAt(3)
  const [hash, rest] = splitOnce(localPart.slice(5))
  return version === '0' ? readOwn(secret, hash, rest, now) : readOnward(secret, hash, rest)
}

function readOwn(secret: KeyObject, hash: string, rest: string, now: number): Address | null {
  const [day, place] = splitOnce(rest)
  const [domain, localPart] = splitOnce(place)
  if (!isEqual(hash, hashOf(secret, [day, domain, localPart])) || !isRecent(day, now)) return null
  return tryParseForeignAddress(`${localPart}@${domain}`)
}

function readOnward(secret: KeyObject, hash: string, rest: string): Address | null {
  const [first, tail] = splitOnce(rest)
  if (!isEqual(hash, hashOf(secret, [first, tail]))) return null
  return tryParseForeignAddress(`SRS0${tail}@${first}`)
}

/** Reads who rewrote an SRS1 address of another forwarder first, without its hash, which is that forwarder's. */
function readFirst(text: string): { readonly first: DomainName; readonly tail: string } | null {
  const [, rest] = splitOnce(text)
  const [name, tail] = splitOnce(rest)
  const first = tryParseDomainName(name)
  return first === null || !/^[=+-]./.test(tail) ? null : { first, tail }
}

/** The text before and after the first `=`. */
function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** Its purpose comes first, so that no other token made with the key has the same text. */
function hashOf(secret: KeyObject, parts: readonly string[]): string {
  const text = JSON.stringify(['forwarded sender', ...parts.map((part) => part.toLowerCase())])
  return encodeBase32(createHmac('sha256', secret).update(text).digest(), ALPHABET).slice(0, HASH_CHARS)
}

function isEqual(given: string, expected: string): boolean {
  const bytes = Buffer.from(given.toUpperCase())
  return bytes.length === HASH_CHARS && timingSafeEqual(bytes, Buffer.from(expected))
}

function encodeDay(at: number): string {
  const day = Math.floor(at / DAY) % DAY_CODES
  return ALPHABET.charAt(day >> 5) + ALPHABET.charAt(day & 31)
}

/** A day in the future is allowed, because clocks differ. */
function isRecent(code: string, now: number): boolean {
  if (!/^[A-Z2-7]{2}$/i.test(code)) return false
  const [high = '', low = ''] = code.toUpperCase()
  const day = ALPHABET.indexOf(high) * 32 + ALPHABET.indexOf(low)
  const today = Math.floor(now / DAY) % DAY_CODES
  return (today - day + DAY_CODES + 1) % DAY_CODES <= MAX_AGE + 1
}
