/**
 * Finds who owns each workspace, from memory. We count and share by owner what a tenant could multiply with further
 * workspaces.
 *
 * An entry stays until `forget` or `drop` removes it, or until later ones push it out. Limit: 10,000 workspaces.
 */
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { findOwnerId } from './workspaces.js'

const MAX_WORKSPACES = 10_000

export class WorkspaceOwners {
  private readonly owners: ReturnType<typeof createLruCache<string>>
  private readonly read: Read

  constructor({ read }: { readonly read: Read }, maxWorkspaces = MAX_WORKSPACES) {
    this.read = read
    this.owners = createLruCache<string>({ max: maxWorkspaces })
  }

  /** The id of the user who owns the workspace, or the id of the workspace if it has no owner. */
  readonly ownerOf = (workspaceId: string): string => {
    const known = this.owners.get(workspaceId)
    if (known !== undefined) return known
    const owner = findOwnerId(this.read, workspaceId)
    this.owners.set(workspaceId, owner)
    return owner
  }

  /** Call this when this process has transferred or closed the workspace. */
  forget(workspaceId: string): void {
    this.owners.delete(workspaceId)
  }

  /** Call this when another process has changed the database. */
  drop(): void {
    this.owners.clear()
  }
}
