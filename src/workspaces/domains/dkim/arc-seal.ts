/**
 * Seals a message that we pass on: an ARC set (RFC 8617 section 5.1) of results, message signature and seal, with
 * rsa-sha256, relaxed/relaxed.
 *
 * The message signature covers what our DKIM signatures cover, and the DKIM-Signature fields. Like them, it lists
 * From once more than From occurs. It never covers ARC fields or Authentication-Results (section 4.1.2). The seal
 * covers all sets in order, the new one last, without the message.
 *
 * It relies on a chain that was verified: each instance from 1 has exactly one field of each kind. It runs on the
 * signing thread, as RSA does.
 */
import { sign } from 'node:crypto'
import {
  findFields,
  type Header,
  type HeaderField,
  readFieldValue,
  scanHeader,
} from '../../../base/mail/header-fields.js'
import { canonicalizeField, hashRelaxedBody } from './canonical.js'
import { type DkimKey, foldBase64, foldNames, selectSignedFields, signedNames } from './sign.js'

export interface ArcSet {
  /** The instance from 1 to `MAX_ARC_SETS`: one more than the message has. */
  readonly instance: number
  /** The result for the chain of the message as it arrived. */
  readonly validation: 'none' | 'pass'
  /** The value of our Authentication-Results field, on one line. */
  readonly results: string
}

/** RFC 8617 section 4.2.1. */
export const MAX_ARC_SETS = 50

const FOLD = '\r\n '
const fieldNames = ['arc-authentication-results', 'arc-message-signature', 'arc-seal'] as const
const coveredNames = [...signedNames, 'dkim-signature'] as const
/** Tags of a seal before its instance. Their order is free. */
const MAX_TAGS = 20

/** Returns the three fields with their CRLF, to be put on top of `raw`. `bodyHash` is the same as in `signDkim`. */
export function sealArc(raw: Buffer, key: DkimKey, now: number, set: ArcSet, bodyHash?: string): string {
  const header = scanHeader(raw)
  const { instance, validation } = set
  const at = Math.floor(now / 1000)
  const results = `ARC-Authentication-Results: i=${instance};${FOLD}${foldWords(set.results)}\r\n`
  const covered = selectSignedFields(header.fields, coveredNames)
  const unsigned = [
    `ARC-Message-Signature: i=${instance}; a=rsa-sha256; c=relaxed/relaxed;`,
    `d=${key.domain};`,
    `s=${key.selector}; t=${at};`,
    `h=${foldNames([...covered.map(({ name }) => name), 'from'])};`,
    `bh=${bodyHash ?? hashRelaxedBody(raw, header.bodyStart)};`,
    'b=',
  ].join(FOLD)
  const signature = complete(unsigned, covered.map((field) => canonicalizeField(raw, field)).join(''), key)
  const seal = [
    `ARC-Seal: i=${instance}; a=rsa-sha256; t=${at}; cv=${validation};`,
    `d=${key.domain}; s=${key.selector};`,
    'b=',
  ].join(FOLD)
  const chain = canonicalizeChain(raw, header, instance) + canonicalizeOwn(results) + canonicalizeOwn(signature)
  return complete(seal, chain, key) + signature + results
}

/** Seals that we count: more than a valid chain has. */
const MAX_COUNTED = 2 * MAX_ARC_SETS
/** Bytes of a seal in which we search for its instance. */
const MAX_SEARCHED = 4_096

/** The number of sets that a message has: the highest instance of its seals. */
export function countArcSets(raw: Buffer, header: Header): number {
  const seals = findFields(header, 'arc-seal').slice(0, MAX_COUNTED)
  return Math.max(0, ...seals.map((field) => instanceOf(raw, field)))
}

/** Returns the field with its signature, which covers `covered` and the field itself. */
function complete(unsigned: string, covered: string, { keyObject }: DkimKey): string {
  const own = canonicalizeOwn(unsigned).slice(0, -2)
  const signature = sign('sha256', Buffer.from(covered + own, 'latin1'), keyObject)
  return `${unsigned}${foldBase64(signature.toString('base64'), 'b='.length + 1)}\r\n`
}

function canonicalizeOwn(field: string): string {
  const raw = Buffer.from(field, 'latin1')
  return scanHeader(raw)
    .fields.map((one) => canonicalizeField(raw, one))
    .join('')
}

/** The sets before `instance`. Each has the order results, message signature, seal. */
function canonicalizeChain(raw: Buffer, header: Header, instance: number): string {
  const sets = Array.from({ length: instance - 1 }, (): string[] => [])
  for (const [place, name] of fieldNames.entries()) {
    for (const field of findFields(header, name)) {
      const set = sets[instanceOf(raw, field) - 1]
      if (set !== undefined) set[place] = canonicalizeField(raw, field)
    }
  }
  return sets.flat().join('')
}

/** The tag `i=`. It is 0 if there is none. */
function instanceOf(raw: Buffer, field: HeaderField): number {
  for (const tag of readFieldValue(raw, field, MAX_SEARCHED).split(';', MAX_TAGS)) {
    const digits = /^\s{0,9}i\s{0,9}=\s{0,9}(\d{1,2})\s{0,9}$/.exec(tag)?.[1]
    if (digits !== undefined) return Number(digits)
  }
  return 0
}

const MAX_LINE = 76

/** Folds the text at blanks. It is printable ASCII, because the values were quoted when the results were written. */
function foldWords(text: string): string {
  const lines: string[] = []
  for (const word of text
    // The field that they come from is folded with tabs.
    .replaceAll('\t', ' ')
    .replace(/[^\x20-\x7e]/g, '?')
    .split(' ')
    .filter((one) => one !== '')) {
    const line = lines.at(-1)
    if (line === undefined || line.length + word.length > MAX_LINE) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.join(FOLD)
}
