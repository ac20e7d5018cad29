/**
 * Chooses the source address of a message among those of its pool, one for each family. Pure.
 *
 * The choice follows from the id of the message: messages are spread evenly, and a message that is deferred comes back
 * from the same address, which greylisting asks for (RFC 6647). An address that is new at a provider and has sent what it
 * may today, or that is missing on this machine, passes its messages on to the next one of the pool.
 */
import { type Family, familyOf, type Source, type SourcePool } from './source-pools.js'

/** `full`: it has sent what it may today. `missing`: no address of this machine. */
type SourceState = 'free' | 'full' | 'missing'

export interface ChosenSources {
  /** By family; absent: no address of the pool is free. */
  readonly sources: Partial<Readonly<Record<Family, Source>>>
  /** The addresses of the families of the hosts that are full. */
  readonly full: readonly Source[]
  readonly missing: readonly Source[]
}

/** `families`: those of the hosts. */
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

/** A number of the id, the same each time (FNV-1a). */
export function seedOf(id: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0
  return hash
}
