/**
 * A cache of what workspaces have, by workspace and name.
 *
 * Entries stay until they are forgotten, dropped, or pushed out by later ones; what `load` does not find is not cached.
 */
import { createLruCache, type LruCache } from './lru-cache.js'
import { SharedLoads } from './shared-loads.js'

/** `Found` may include undefined, for what is not there. */
export abstract class RecordCache<Found extends object | undefined, Name extends string = string> {
  private readonly entries: LruCache<NonNullable<Found>>
  private readonly loads = new SharedLoads<Found>()

  constructor(options: Parameters<typeof createLruCache<NonNullable<Found>>>[0]) {
    this.entries = createLruCache<NonNullable<Found>>(options)
  }

  /** A value if it is in memory, and otherwise a promise of it. */
  find(workspaceId: string, name: Name): Found | Promise<Found> {
    const key = keyOf(workspaceId, name)
    return (
      this.entries.get(key) ??
      this.loads.join(
        key,
        () => this.load(workspaceId, name),
        (found) => this.keep(key, found),
      )
    )
  }

  forget(workspaceId: string, name: Name): void {
    const key = keyOf(workspaceId, name)
    this.entries.delete(key)
    this.loads.forget(key)
  }

  drop(): void {
    this.entries.clear()
    this.loads.forgetAll()
  }

  protected abstract load(workspaceId: string, name: Name): Promise<Found>

  private keep(key: string, found: Found): void {
    if (found !== undefined) this.entries.set(key, found)
  }
}

function keyOf(workspaceId: string, name: string): string {
  return `${workspaceId} ${name}`
}
