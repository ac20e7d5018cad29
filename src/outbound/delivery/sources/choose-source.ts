/**
 * Chooses the source addresses of a message from those of its pool, one for each family. Pure.
 *
 * The id of the message decides the choice. So messages are spread evenly, and a message that is deferred comes back
 * from the same address, which greylisting requires (RFC 6647). The messages of an address that is new at a provider
 * and has sent as much as it may today, or that is missing on this machine, go to the next address of the pool.
 */
import { type Family, familyOf, type Source, type SourcePool } from './source-pools.js'

/** `full`: the address has sent as much as it may today. `missing`: this machine does not have the address. */
type SourceState = 'free' | 'full' | 'missing'

export interface ChosenSources {
  /** The sources by family. A family is absent if no address of the pool is free. */
  readonly sources: Partial<Readonly<Record<Family, Source>>>
  /** The full addresses of the families that the hosts have. */
  readonly full: readonly Source[]
  readonly missing: readonly Source[]
}

/** `families` are those of the hosts. */
export function chooseSources(
  pool: Pick<SourcePool, 'sources'>,
  families: ReadonlySet<Family>,
  seed: number,
  stateOf: (source: Source) => SourceState,
): ChosenSources {
  const judged = pool.sources
    .filter(({ family }) => families.has(family))
    .map((source) => ({ source, state: stateOf(source) }))
  const withState = (asked: SourceState): readonly Source[] =>
    judged.flatMap(({ source, state }) => (state === asked ? [source] : []))
  const sources: Partial<Record<Family, Source>> = {}
  for (const family of families) {
    const own = judged.filter(({ source }) => source.family === family)
    const start = own.length === 0 ? 0 : seed % own.length
    const first = [...own.slice(start), ...own.slice(0, start)].find(({ state }) => state === 'free')
    if (first !== undefined) sources[family] = first.source
  }
  return { sources, full: withState('full'), missing: withState('missing') }
}

export function familiesOf(hosts: readonly { readonly address: string }[]): ReadonlySet<Family> {
  return new Set(hosts.map(({ address }) => familyOf(address)))
}

/** Returns a number that depends only on the id (FNV-1a). */
export function seedOf(id: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0
  return hash
}
