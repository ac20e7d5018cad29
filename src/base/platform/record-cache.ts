/**
 * A cache of what workspaces have, by workspace and name.
 *
 * Entries stay until they are forgotten, dropped, or pushed out by later ones; what `load` does not find is not cached.
 */
import { createLruCache, type LruCache } from './lru-cache.js'

export abstract class RecordCache<V extends object, Name extends string = string> {
  private readonly entries: LruCache<V>

  constructor(options: Parameters<typeof createLruCache<V>>[0]) {
    this.entries = createLruCache<V>(options)
  }

  find(workspaceId: string, name: Name): V | undefined {
    const key = `${workspaceId} ${name}`
    const cached = this.entries.get(key)
    if (cached !== undefined) return cached
    const value = this.load(workspaceId, name)
    if (value !== undefined) this.entries.set(key, value)
    return value
  }

  forget(workspaceId: string, name: Name): void {
    this.entries.delete(`${workspaceId} ${name}`)
  }

  drop(): void {
    this.entries.clear()
  }

  protected abstract load(workspaceId: string, name: Name): V | undefined
}
