/**
 * Bounded caches in memory: when one is full, what was used least recently leaves first (lru-cache).
 *
 * The bound is a weight, by default 1 per entry. The library is never given a number of entries: it would
 * reserve memory for all of them at once, some 200 KB per 10,000 entries in a cache that may stay empty.
 */
import { LRUCache } from 'lru-cache'

/** An entry that weighs more than `max` is not stored. */
interface LruCacheOptions<V> {
  /** Entries, or the sum of their weights. */
  readonly max: number
  /** A whole number from 1. */
  readonly weightOf?: (value: V) => number
  /** Called for each entry that leaves the cache, by whatever way. */
  readonly onRemove?: (value: V, key: string) => void
}

export type LruCache<V extends object | string | number | boolean> = Pick<
  LRUCache<string, V>,
  'get' | 'peek' | 'has' | 'set' | 'delete' | 'clear' | 'size' | 'values' | 'rkeys' | 'calculatedSize'
>

export function createLruCache<V extends object | string | number | boolean>({
  max,
  weightOf = () => 1,
  onRemove,
}: LruCacheOptions<V>): LruCache<V> {
  return new LRUCache<string, V>({
    maxSize: max,
    sizeCalculation: weightOf,
    ...(onRemove === undefined ? {} : { dispose: onRemove }),
  })
}
