/**
 * A resolver with a literal zone.
 *
 * `'b.test': { mx: [[10, 'mx.b.test']] }`, `'mx.b.test': { addresses: ['192.0.2.1'] }`; `'null.test': { mx: [[0, '']]
 * }`; `'broken.test': 'failure'`, for one type `{ mx: 'failure' }`; `TXT`, `PTR`, `CNAME`, `NS`, `CAA` and `TLSA` in the same way. A name
 * that is absent does not exist.
 */
import type {
  LookupResult,
  MxRecord,
  RecordResolver,
  RecordType,
  Resolver,
} from '../../../src/base/platform/dns/resolver.js'

interface ZoneName {
  readonly mx?: readonly (readonly [preference: number, exchange: string])[] | 'failure'
  readonly addresses?: readonly string[] | 'failure'
  readonly TXT?: readonly string[] | 'failure'
  readonly PTR?: readonly string[] | 'failure'
  readonly CNAME?: readonly string[] | 'failure'
  readonly NS?: readonly string[] | 'failure'
  readonly CAA?: readonly string[] | 'failure'
  readonly TLSA?: readonly string[] | 'failure'
}

export type Zone = Readonly<Record<string, ZoneName | 'failure'>>

interface ZoneResolver extends Resolver, RecordResolver {
  /** All questions so far, as `MX b.test`, `ADDR mx.b.test`. */
  readonly asked: readonly string[]
}

const failure = { kind: 'failure', detail: 'SERVFAIL' } as const

export function zoneResolver(zone: Zone): ZoneResolver {
  const asked: string[] = []
  const answer = <T>(
    name: string,
    pick: (found: ZoneName) => readonly T[] | 'failure' | undefined,
  ): LookupResult<T> => {
    const found = zone[name]
    if (found === undefined) return { kind: 'no-domain' }
    const picked = found === 'failure' ? found : pick(found)
    if (picked === 'failure') return failure
    const [first, ...rest] = picked ?? []
    return first === undefined ? { kind: 'no-data' } : { kind: 'records', records: [first, ...rest] }
  }
  return {
    asked,
    resolveMx: async (name) => {
      asked.push(`MX ${name}`)
      return answer<MxRecord>(name, ({ mx }) =>
        mx === 'failure' ? mx : mx?.map(([preference, exchange]) => ({ preference, exchange })),
      )
    },
    resolveRecords: async (name, type) => {
      asked.push(`${type} ${name}`)
      return answer(name, (found) => recordsOf(found, type))
    },
    resolveAddresses: async (name) => {
      asked.push(`ADDR ${name}`)
      return answer(name, ({ addresses }) => addresses)
    },
  }
}

function recordsOf(found: ZoneName, type: RecordType): readonly string[] | 'failure' | undefined {
  if (type !== 'A' && type !== 'AAAA') return found[type]
  const { addresses } = found
  return addresses === 'failure'
    ? addresses
    : addresses?.filter((address) => address.includes(':') === (type === 'AAAA'))
}
