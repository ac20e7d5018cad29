/** Answers of DNS in the words of findings. Pure. */
import type { LookupResult } from '../../base/platform/dns/resolver.js'
import type { Remedy } from './finding.js'

export function recordsOf<T>(lookup: LookupResult<T>): readonly T[] {
  return lookup.kind === 'records' ? lookup.records : []
}

/** Tells a person why there is no record. */
export function describeMissing(lookup: LookupResult<unknown>): string {
  switch (lookup.kind) {
    case 'no-domain':
      return 'the name does not exist'
    case 'no-data':
      return 'the name has no such record'
    case 'failure':
      return `DNS gave no answer (${lookup.detail})`
    case 'records':
      return 'there is a record'
  }
}

/** The records that lead from a host to these addresses; without any, one to be filled in. */
export function addressRecords(host: string, addresses: readonly string[]): Remedy {
  const [first = 'ADDRESS', ...others] = addresses
  const recordOf = (address: string): string => `${host}. ${address.includes(':') ? 'AAAA' : 'A'} ${address}`
  return [recordOf(first), ...others.map(recordOf)]
}

/** Names without the last dot and in lower case, or texts, as one line. */
export function listTexts(texts: readonly string[]): string {
  return texts.join(', ')
}
