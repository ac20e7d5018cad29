/**
 * Names into records, with an answer that tells apart what retrying must tell apart: the
 * name has no such record, the name does not exist, and DNS did not answer.
 *
 * Records are kept for their time to live, what does not exist for as long as its zone says
 * (RFC 2308), a failure for a few seconds, so that a burst of mail to a dead domain asks once.
 * Questions asked at the same time are asked once. The cache is bounded; the oldest entry goes
 * first, and what a stranger makes uncommonly long is not kept.
 *
 * Known limit: the hosts file is not read, only `localhost` is known (RFC 6761).
 */
import type { Clock } from '../clock.js'
import type { Found } from './chain.js'
import { type DnsAsk, openDnsClient } from './client.js'
import type { AnswerRecord, QuestionType } from './message.js'
import { canonicalName } from './name.js'

export type Lookup<T> =
  | { readonly kind: 'records'; readonly records: readonly [T, ...T[]] }
  /** The name exists, without a record of this type. */
  | { readonly kind: 'no-data' }
  /** NXDOMAIN, authoritatively. */
  | { readonly kind: 'no-domain' }
  /** No answer, or a broken one. `detail` as `SERVFAIL`, `TIMEOUT`. */
  | { readonly kind: 'failure'; readonly detail: string }

export interface MxRecord {
  readonly preference: number
  /** Without trailing dot; empty: the root, that is a null MX (RFC 7505). */
  readonly exchange: string
}

export interface Resolver {
  readonly mx: (name: string) => Promise<Lookup<MxRecord>>
  /** IPv4 and IPv6 addresses, in the order of the answers. */
  readonly addresses: (name: string) => Promise<Lookup<string>>
}

export type RecordType = 'A' | 'AAAA' | 'TXT' | 'PTR' | 'CNAME'

/** Records of one type, for who must tell the types apart: authentication of incoming mail. */
export interface RecordResolver {
  /** As text: an address, a name without trailing dot, the strings of one TXT record joined. */
  readonly records: (name: string, type: RecordType) => Promise<Lookup<string>>
  readonly mx: (name: string) => Promise<Lookup<MxRecord>>
}

export interface ResolverSettings {
  /** Empty: the system's. Entries may carry a port. */
  readonly servers: readonly string[]
  /** Milliseconds for one try; it doubles with each further one. */
  readonly timeout: number
  readonly tries: number
  /** Names kept in the cache. */
  readonly cacheSize: number
}

export const defaultResolverSettings: ResolverSettings = { servers: [], timeout: 3000, tries: 3, cacheSize: 20_000 }

/** Questions under way end as failures once `signal` is aborted. */
export function openResolver(settings: ResolverSettings, clock: Clock, signal: AbortSignal): Resolver & RecordResolver {
  const ask = openDnsClient(settings, signal)
  const cached = answerCache(settings.cacheSize, clock)
  const typed = (name: string, type: RecordType): Promise<Lookup<string>> =>
    cached(`${type} ${name}`, () => answered(ask, name, type, ({ text }) => text))

  return {
    mx: (name) => {
      const key = canonicalName(name)
      return cached(`MX ${key}`, () => answered(ask, key, 'MX', mxRecord))
    },
    records: (name, type) => typed(canonicalName(name), type),
    addresses: async (name) => {
      const key = canonicalName(name)
      if (key === 'localhost') return { kind: 'records', records: ['127.0.0.1', '::1'] }
      return joined(...(await Promise.all([typed(key, 'A'), typed(key, 'AAAA')])))
    },
  }
}

function mxRecord({ text, preference }: AnswerRecord): MxRecord {
  return { preference, exchange: text }
}

interface Answer<T> {
  readonly lookup: Lookup<T>
  /** Milliseconds. */
  readonly keepFor: number
}

/** Of negative answers whose zone does not say. */
const assumedTtl = 60
/** Within RFC 2308's one to three hours: whoever mends a zone is not to wait longer than for a retry of mail. */
const longestTtl = 3600
const failureTtl = 10
/** Octets, or so, of one answer in the cache: with 20,000 of them this is what they may take together. */
const longestKept = 4096
const recordOverhead = 64

async function answered<T>(
  ask: DnsAsk,
  name: string,
  type: QuestionType,
  shape: (record: AnswerRecord) => T,
): Promise<Answer<T>> {
  const found = await ask({ name, type })
  return { lookup: lookupOf(found, shape), keepFor: Math.min(secondsToKeep(found), longestTtl) * 1000 }
}

function lookupOf<T>(found: Found, shape: (record: AnswerRecord) => T): Lookup<T> {
  if (found.kind === 'failure') return found
  if (found.kind !== 'records') return { kind: found.kind }
  const [first, ...rest] = found.records
  return { kind: 'records', records: [shape(first), ...rest.map(shape)] }
}

function secondsToKeep(found: Found): number {
  if (found.kind === 'failure') return failureTtl
  return found.kind === 'records' && sizeOf(found.records) > longestKept ? 0 : (found.ttl ?? assumedTtl)
}

function sizeOf(records: readonly AnswerRecord[]): number {
  return records.reduce((size, { text }) => size + text.length + recordOverhead, 0)
}

/** One family's addresses will do; NXDOMAIN speaks for the whole name; "none" must be said by both. */
function joined(a: Lookup<string>, b: Lookup<string>): Lookup<string> {
  const [first, ...rest] = [a, b].flatMap((lookup) => (lookup.kind === 'records' ? lookup.records : []))
  if (first !== undefined) return { kind: 'records', records: [first, ...rest] }
  return [a, b].find(({ kind }) => kind === 'no-domain') ?? [a, b].find(({ kind }) => kind === 'failure') ?? a
}

interface Kept {
  readonly answer: Promise<Lookup<unknown>>
  /** Infinite while the question is under way. */
  until: number
}

type Cached = <T>(key: string, ask: () => Promise<Answer<T>>) => Promise<Lookup<T>>

/** A key has one type of answer only, which is what makes the cast hold. */
function answerCache(size: number, clock: Clock): Cached {
  const entries = new Map<string, Kept>()
  return <T>(key: string, ask: () => Promise<Answer<T>>) => {
    const kept = entries.get(key)
    if (kept !== undefined && kept.until > clock()) return kept.answer as Promise<Lookup<T>>
    const asked = ask()
    const entry: Kept = { answer: asked.then(({ lookup }) => lookup), until: Number.POSITIVE_INFINITY }
    entries.delete(key)
    entries.set(key, entry)
    for (const oldest of entries.keys()) {
      if (entries.size <= size) break
      entries.delete(oldest)
    }
    void asked.then(({ keepFor }) => {
      entry.until = clock() + keepFor
      if (keepFor === 0 && entries.get(key) === entry) entries.delete(key)
    })
    return entry.answer as Promise<Lookup<T>>
  }
}
