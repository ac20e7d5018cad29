/**
 * A record resolver with a literal zone: name, type, records.
 *
 * `'b.test': { TXT: ['v=spf1 -all'], A: ['192.0.2.1'], MX: [[10, 'mx.b.test']] }`; `'broken.test': 'SERVFAIL'`, for
 * one type `{ TXT: 'SERVFAIL' }`; `'silence'` never answers. A name that is absent does not exist.
 */
import type { LookupResult, RecordResolver } from '../../../src/base/platform/dns/resolver.js'

type Fault = 'SERVFAIL' | 'silence'

export type RecordZone = Readonly<Record<string, Fault | ZoneRecords>>

export interface ZoneRecords {
  readonly A?: readonly string[] | Fault
  readonly AAAA?: readonly string[] | Fault
  readonly TXT?: readonly string[] | Fault
  readonly PTR?: readonly string[] | Fault
  readonly CNAME?: readonly string[] | Fault
  readonly NS?: readonly string[] | Fault
  readonly CAA?: readonly string[] | Fault
  readonly TLSA?: readonly string[] | Fault
  readonly MX?: readonly (readonly [preference: number, exchange: string])[] | Fault
}

export interface RecordZoneResolver extends RecordResolver {
  /** All questions so far, as `TXT b.test`. */
  readonly asked: readonly string[]
}

export function recordZone(zone: RecordZone): RecordZoneResolver {
  const asked: string[] = []
  const answer = async <T>(
    name: string,
    type: string,
    pick: (found: ZoneRecords) => readonly T[] | Fault | undefined,
  ): Promise<LookupResult<T>> => {
    asked.push(`${type} ${name}`)
    const found = zone[name.toLowerCase()]
    if (found === undefined) return { kind: 'no-domain' }
    const picked = typeof found === 'string' ? found : pick(found)
    if (picked === 'SERVFAIL') return { kind: 'failure', detail: 'SERVFAIL' }
    if (picked === 'silence') return new Promise(() => undefined)
    const [first, ...rest] = picked ?? []
    return first === undefined ? { kind: 'no-data' } : { kind: 'records', records: [first, ...rest] }
  }
  return {
    asked,
    resolveRecords: (name, type) => answer(name, type, (found) => found[type]),
    resolveMx: (name) =>
      answer(name, 'MX', ({ MX }) =>
        typeof MX === 'string' ? MX : MX?.map(([preference, exchange]) => ({ preference, exchange })),
      ),
  }
}
