/**
 * Names into records, with an answer that tells apart what retrying must tell apart: the
 * name has no such record, the name does not exist, and DNS did not answer.
 *
 * Records are kept for their time to live, what does not exist for a minute, a failure
 * for a few seconds, so that a burst of mail to a dead domain asks once. Questions asked
 * at the same time are asked once. The cache is bounded; the oldest entry goes first.
 *
 * Known limits: node gives a time to live for addresses alone: 60 s are assumed for all
 * other records and for negative answers. The hosts file is not read, only `localhost` is
 * known (RFC 6761).
 */
import { Resolver as NodeResolver } from 'node:dns/promises'
import type { Clock } from './clock.js'

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
  const node = new NodeResolver({ timeout: settings.timeout, tries: settings.tries })
  if (settings.servers.length > 0) node.setServers(settings.servers)
  signal.addEventListener('abort', () => node.cancel(), { once: true })

  const cached = answerCache(settings.cacheSize, clock)
  const guarded = <T>(ask: () => Promise<Answer<T>>): Promise<Answer<T>> =>
    signal.aborted ? Promise.resolve(failed('CANCELLED')) : ask().catch(failureOf)
  const typed = (name: string, type: RecordType): Promise<Lookup<string>> =>
    cached(`${type} ${name}`, () => guarded(() => askers[type](node, name)))

  return {
    mx: (name) => {
      const key = canonical(name)
      return cached(`MX ${key}`, () => guarded(async () => mxAnswer(await node.resolveMx(key))))
    },
    records: (name, type) => typed(canonical(name), type),
    addresses: async (name) => {
      const key = canonical(name)
      if (key === 'localhost') return { kind: 'records', records: ['127.0.0.1', '::1'] }
      return joined(...(await Promise.all([typed(key, 'A'), typed(key, 'AAAA')])))
    },
  }
}

const askers: Readonly<Record<RecordType, (node: NodeResolver, name: string) => Promise<Answer<string>>>> = {
  A: async (node, name) => addressAnswer(await node.resolve4(name, { ttl: true })),
  AAAA: async (node, name) => addressAnswer(await node.resolve6(name, { ttl: true })),
  TXT: async (node, name) => {
    const found = await node.resolveTxt(name)
    return records(
      found.map((strings) => strings.join('')),
      assumedTtl,
    )
  },
  PTR: async (node, name) => records((await node.resolvePtr(name)).map(canonical), assumedTtl),
  CNAME: async (node, name) => records((await node.resolveCname(name)).map(canonical), assumedTtl),
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

interface Answer<T> {
  readonly lookup: Lookup<T>
  /** Milliseconds. */
  readonly keepFor: number
}

const assumedTtl = 60_000
const longestTtl = 3_600_000
const failureTtl = 10_000

function records<T>(all: readonly T[], keepFor: number): Answer<T> {
  const [first, ...rest] = all
  if (first === undefined) return { lookup: { kind: 'no-data' }, keepFor: assumedTtl }
  return { lookup: { kind: 'records', records: [first, ...rest] }, keepFor }
}

function addressAnswer(found: readonly { readonly address: string; readonly ttl: number }[]): Answer<string> {
  const ttl = Math.min(...found.map((record) => record.ttl * 1000), longestTtl)
  return records(
    found.map(({ address }) => address),
    ttl,
  )
}

function mxAnswer(found: readonly { readonly exchange: string; readonly priority: number }[]): Answer<MxRecord> {
  const all = found.map(({ exchange, priority }) => ({ preference: priority, exchange: canonical(exchange) }))
  return records(all, assumedTtl)
}

function failed(detail: string): Answer<never> {
  return { lookup: { kind: 'failure', detail }, keepFor: failureTtl }
}

function failureOf(error: unknown): Answer<never> {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ENODATA':
      return { lookup: { kind: 'no-data' }, keepFor: assumedTtl }
    case 'ENOTFOUND':
    // A name that cannot be put into a question cannot exist either.
    case 'EBADNAME':
      return { lookup: { kind: 'no-domain' }, keepFor: assumedTtl }
    default:
      return failed(code.replace(/^E/, '') || 'FAILED')
  }
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
    })
    return entry.answer as Promise<Lookup<T>>
  }
}
