/**
 * Finds who owns each workspace, from memory. What a tenant could multiply with further workspaces is counted and
 * shared by owner.
 *
 * Entries stay until they are forgotten or pushed out by later ones. Limit: 10,000 workspaces.
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

  /** The id of the user who owns the workspace; the id of the workspace itself where no one does. */
  readonly ownerOf = (workspaceId: string): string => {
    const known = this.owners.get(workspaceId)
    if (known !== undefined) return known
    const owner = findOwnerId(this.read, workspaceId)
    this.owners.set(workspaceId, owner)
    return owner
  }

  /** To be called when this process has transferred or closed the workspace. */
  forget(workspaceId: string): void {
    this.owners.delete(workspaceId)
  }

  /** To be called when another process has changed the database. */
  drop(): void {
    this.owners.clear()
  }
}
