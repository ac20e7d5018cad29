/** Answers of DNS in the words of findings. Pure. */
import type { LookupResult } from '../platform/dns/resolver.js'

export function recordsOf<T>(lookup: LookupResult<T>): readonly T[] {
  return lookup.kind === 'records' ? lookup.records : []
}

/** Why there is no record, for a person. */
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

/** Names without the last dot and in lower case, or texts, as one line. */
export function listTexts(texts: readonly string[]): string {
  return texts.join(', ')
}
