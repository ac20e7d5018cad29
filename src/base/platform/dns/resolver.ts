/**
 * Resolves names to records. The result distinguishes what retries must distinguish: the name has no such record,
 * the name does not exist, and DNS did not answer.
 *
 * Records are cached for their time to live, at most an hour; negative answers for as long as their zone says
 * (RFC 2308); failures for 10 s, so that a burst of mail to a dead domain causes one query. Concurrent questions for
 * the same records share one query. The cache is bounded, and answers of more than 4 KB are not cached.
 *
 * Known limit: the hosts file is not read; only `localhost` is known (RFC 6761).
 */
import type { Clock } from '../clock.js'
import { createLruCache } from '../lru-cache.js'
import type { DnsAnswer } from './chain.js'
import { type DnsClient, openDnsClient } from './client.js'
import type { AnswerRecord, QuestionType } from './message.js'
import { toCanonicalName } from './name.js'
import type { DnsServer } from './transport.js'

export type LookupResult<T> =
  | { readonly kind: 'records'; readonly records: readonly [T, ...T[]] }
  /** The name exists, without a record of this type. */
  | { readonly kind: 'no-data' }
  /** NXDOMAIN. */
  | { readonly kind: 'no-domain' }
  /** There was no reply, or a malformed one. `detail` is a code such as `SERVFAIL` or `TIMEOUT`. */
  | { readonly kind: 'failure'; readonly detail: string }

export interface MxRecord {
  readonly preference: number
  /** The name without a trailing dot. Empty for the root, which makes it a null MX (RFC 7505). */
  readonly exchange: string
}

export interface Resolver {
  readonly resolveMx: (name: string) => Promise<LookupResult<MxRecord>>
  /** IPv4 and IPv6 addresses, in the order of the answers. */
  readonly resolveAddresses: (name: string) => Promise<LookupResult<string>>
}

export type RecordType = 'A' | 'AAAA' | 'TXT' | 'PTR' | 'CNAME' | 'NS' | 'CAA' | 'TLSA'

/** Records of a single type, for the authentication of incoming mail. */
export interface RecordResolver {
  /** Resolves to records as text: an address, a name without trailing dot, or the joined strings of one TXT record. */
  readonly resolveRecords: (name: string, type: RecordType) => Promise<LookupResult<string>>
  readonly resolveMx: (name: string) => Promise<LookupResult<MxRecord>>
  /**
   * Epoch milliseconds until which the last answer to this question may be kept. It is 0 if it may not be kept. Without
   * this function no answer may be kept.
   */
  readonly freshUntil?: (name: string, type: RecordType | 'MX') => number
}

/** A look-up, and what DNSSEC says about it. */
export interface JudgedLookup<T> {
  readonly lookup: LookupResult<T>
  /** A validating server on loopback has found the answer authentic, the CNAME records on the way to it too. False for a failure. */
  readonly isAuthentic: boolean
  /** The name at the end of the CNAME records, or null if there were none, or the look-up found no record. */
  readonly alias: string | null
}

/** The same answers, from the same cache, with what DNSSEC says about them. */
export interface DnssecResolver {
  readonly judgeMx: (name: string) => Promise<JudgedLookup<MxRecord>>
  readonly judgeRecords: (name: string, type: RecordType) => Promise<JudgedLookup<string>>
}

export interface ResolverSettings {
  /** Empty if the servers of the system are used. */
  readonly servers: readonly DnsServer[]
  /** Milliseconds for the first try; each further try has twice the time. */
  readonly timeout: number
  readonly tries: number
  /** Entries, or 0 if there is no cache. */
  readonly cacheSize: number
}

export const defaultResolverSettings: ResolverSettings = { servers: [], timeout: 3000, tries: 3, cacheSize: 20_000 }

/** Queries under way fail when `signal` is aborted. */
export function openResolver(
  settings: ResolverSettings,
  clock: Clock,
  signal: AbortSignal,
): Resolver & RecordResolver & DnssecResolver {
  const ask = openDnsClient(settings, signal)
  const cache = createAnswerCache(settings.cacheSize, clock)
  const judgeType = (name: string, type: RecordType): Promise<JudgedLookup<string>> =>
    cache.resolve(`${type} ${name}`, () => queryRecords(ask, name, type, ({ text }) => text))
  const judgeMx: DnssecResolver['judgeMx'] = (name) => {
    const key = toCanonicalName(name)
    return cache.resolve(`MX ${key}`, () => queryRecords(ask, key, 'MX', toMxRecord))
  }
  const resolveType = (name: string, type: RecordType): Promise<LookupResult<string>> =>
    judgeType(name, type).then(({ lookup }) => lookup)

  return {
    judgeMx,
    judgeRecords: (name, type) => judgeType(toCanonicalName(name), type),
    resolveMx: (name) => judgeMx(name).then(({ lookup }) => lookup),
    resolveRecords: (name, type) => resolveType(toCanonicalName(name), type),
    freshUntil: (name, type) => cache.freshUntil(`${type} ${toCanonicalName(name)}`),
    resolveAddresses: async (name) => {
      const key = toCanonicalName(name)
      if (key === 'localhost') return { kind: 'records', records: ['127.0.0.1', '::1'] }
      return mergeAddresses(...(await Promise.all([resolveType(key, 'A'), resolveType(key, 'AAAA')])))
    },
  }
}

function toMxRecord({ text, preference }: AnswerRecord): MxRecord {
  return { preference, exchange: text }
}

interface CacheableResult<T> extends JudgedLookup<T> {
  /** Milliseconds. */
  readonly cacheFor: number
}

/**
 * Seconds, for negative answers without an SOA record, which RFC 2308 section 5 advises not to cache: long enough that a
 * burst of mail causes one query, short enough that a false answer bounces little.
 */
const DEFAULT_NEGATIVE_TTL = 5
/**
 * Seconds. RFC 2308 recommends one to three hours; this is the lower end, so that the next retry of mail sees a
 * repaired zone.
 */
const MAX_TTL = 3600
const FAILURE_TTL = 10
/** Approximate octets of a cached answer, which bounds 20,000 of them to 80 MB. */
const MAX_CACHED_OCTETS = 4096
const RECORD_OVERHEAD = 64

async function queryRecords<T>(
  ask: DnsClient,
  name: string,
  type: QuestionType,
  shape: (record: AnswerRecord) => T,
): Promise<CacheableResult<T>> {
  const found = await ask({ name, type })
  return {
    lookup: toLookupResult(found, shape),
    isAuthentic: found.kind !== 'failure' && found.isAuthenticData,
    alias: found.kind === 'records' && found.isAlias ? found.records[0].owner : null,
    cacheFor: Math.min(cacheSecondsOf(found), MAX_TTL) * 1000,
  }
}

function toLookupResult<T>(found: DnsAnswer, shape: (record: AnswerRecord) => T): LookupResult<T> {
  if (found.kind === 'failure') return found
  if (found.kind !== 'records') return { kind: found.kind }
  const [first, ...rest] = found.records
  return { kind: 'records', records: [shape(first), ...rest.map(shape)] }
}

function cacheSecondsOf(found: DnsAnswer): number {
  if (found.kind === 'failure') return FAILURE_TTL
  return found.kind === 'records' && sizeOf(found.records) > MAX_CACHED_OCTETS ? 0 : (found.ttl ?? DEFAULT_NEGATIVE_TTL)
}

function sizeOf(records: readonly AnswerRecord[]): number {
  return records.reduce((size, { text }) => size + text.length + RECORD_OVERHEAD, 0)
}

/** Addresses of one family suffice; NXDOMAIN holds for both types; "no data" needs both answers. */
function mergeAddresses(a: LookupResult<string>, b: LookupResult<string>): LookupResult<string> {
  const [first, ...rest] = [a, b].flatMap((lookup) => (lookup.kind === 'records' ? lookup.records : []))
  if (first !== undefined) return { kind: 'records', records: [first, ...rest] }
  return [a, b].find(({ kind }) => kind === 'no-domain') ?? [a, b].find(({ kind }) => kind === 'failure') ?? a
}

interface CacheEntry {
  readonly answer: Promise<JudgedLookup<unknown>>
  /** Infinite while the query is under way. */
  expiresAt: number
  /** If it is later than now, the clock was set back, and the answer could be older than its time to live. */
  readonly askedAt: number
}

interface AnswerCache {
  readonly resolve: <T>(key: string, ask: () => Promise<CacheableResult<T>>) => Promise<JudgedLookup<T>>
  /** Epoch milliseconds, or 0 if there is no answer that is still valid. */
  readonly freshUntil: (key: string) => number
}

/** With a `size` of 0 there is no cache. A key has one type of answer only, so the cast holds. */
function createAnswerCache(size: number, clock: Clock): AnswerCache {
  const entries = size === 0 ? null : createLruCache<CacheEntry>({ max: size })
  const findValid = (key: string, now: number): CacheEntry | undefined => {
    const cached = entries?.get(key)
    return cached !== undefined && cached.expiresAt > now && cached.askedAt <= now ? cached : undefined
  }
  return {
    resolve: <T>(key: string, ask: () => Promise<CacheableResult<T>>) => {
      const now = clock()
      const cached = findValid(key, now)
      if (cached !== undefined) return cached.answer as Promise<JudgedLookup<T>>
      const answer = ask()
      const entry: CacheEntry = { answer, expiresAt: Number.POSITIVE_INFINITY, askedAt: now }
      entries?.set(key, entry)
      void answer.then(({ cacheFor }) => {
        entry.expiresAt = clock() + cacheFor
        if (cacheFor === 0 && entries?.peek(key) === entry) entries.delete(key)
      })
      return entry.answer as Promise<JudgedLookup<T>>
    },
    freshUntil: (key) => {
      const expiresAt = findValid(key, clock())?.expiresAt ?? 0
      return Number.isFinite(expiresAt) ? expiresAt : 0
    },
  }
}
