/**
 * Keeps DNS answers for a thread, each for as long as the resolver of the main thread does: a domain that sends again
 * costs no question to the main thread.
 *
 * A key is made by `toAnswerKey`, as the resolver makes its own: names that DNS distinguishes never share an answer.
 * Bounded by the octets of keys and answers; what was used least recently leaves first.
 */
import { toCanonicalName } from '../../../base/platform/dns/name.js'
import type { LookupResult, MxRecord, RecordType } from '../../../base/platform/dns/resolver.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'

export interface DnsQuery {
  readonly name: string
  readonly type: RecordType | 'MX'
}

export type FoundAnswer = LookupResult<string> | LookupResult<MxRecord>

/** Approximate octets of all keys and answers. */
const MAX_KEPT_OCTETS = 4_194_304
/** Octets of an entry without its records, and of a record without its text. */
const OVERHEAD = 256

interface KeptAnswer {
  readonly answer: FoundAnswer
  readonly freshUntil: number
  /** If this time is ahead, the clock was set back, and the answer could be older than its time to live. */
  readonly keptAt: number
  readonly octets: number
}

export function toAnswerKey(name: string, type: string): string {
  return `${type} ${toCanonicalName(name)}`
}

export class KeptAnswers {
  private readonly answers = createLruCache<KeptAnswer>({ max: MAX_KEPT_OCTETS, weightOf: ({ octets }) => octets })

  /** The same object for as long as it is valid at `now`, in epoch milliseconds. */
  find(key: string, now: number): FoundAnswer | undefined {
    const kept = this.answers.get(key)
    return kept !== undefined && kept.freshUntil > now && kept.keptAt <= now ? kept.answer : undefined
  }

  /** `freshUntil` is in epoch milliseconds. */
  keep(key: string, answer: FoundAnswer, freshUntil: number, now: number): void {
    const octets = key.length + octetsOf(answer)
    if (freshUntil > now) this.answers.set(key, { answer, freshUntil, keptAt: now, octets })
  }
}

/** Approximate octets in memory. */
export function octetsOf(answer: FoundAnswer): number {
  if (answer.kind !== 'records') return OVERHEAD
  return answer.records.reduce(
    (sum, record) => sum + OVERHEAD + (typeof record === 'string' ? record : record.exchange).length,
    OVERHEAD,
  )
}
