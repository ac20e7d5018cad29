/**
 * A resolver whose zone is a literal.
 *
 * `'b.test': { mx: [[10, 'mx.b.test']] }`, `'mx.b.test': { addresses: ['192.0.2.1'] }`;
 * `'null.test': { mx: [[0, '']] }`; `'broken.test': 'failure'`, for one question alone
 * `{ mx: 'failure' }`. A name that is not there does not exist.
 */
import type { Lookup, MxRecord, Resolver } from '../../src/platform/resolver.js'

export interface ZoneName {
  readonly mx?: readonly (readonly [preference: number, exchange: string])[] | 'failure'
  readonly addresses?: readonly string[] | 'failure'
}

export type Zone = Readonly<Record<string, ZoneName | 'failure'>>

export interface ZoneResolver extends Resolver {
  /** Every question asked so far, as `MX b.test`, `ADDR mx.b.test`. */
  readonly asked: readonly string[]
}

const failure = { kind: 'failure', detail: 'SERVFAIL' } as const

export function zoneResolver(zone: Zone): ZoneResolver {
  const asked: string[] = []
  const answer = <T>(name: string, pick: (found: ZoneName) => readonly T[] | 'failure' | undefined): Lookup<T> => {
    const found = zone[name]
    if (found === undefined) return { kind: 'no-domain' }
    const picked = found === 'failure' ? found : pick(found)
    if (picked === 'failure') return failure
    const [first, ...rest] = picked ?? []
    return first === undefined ? { kind: 'no-data' } : { kind: 'records', records: [first, ...rest] }
  }
  return {
    asked,
    mx: async (name) => {
      asked.push(`MX ${name}`)
      return answer<MxRecord>(name, ({ mx }) =>
        mx === 'failure' ? mx : mx?.map(([preference, exchange]) => ({ preference, exchange })),
      )
    },
    addresses: async (name) => {
      asked.push(`ADDR ${name}`)
      return answer(name, ({ addresses }) => addresses)
    },
  }
}
