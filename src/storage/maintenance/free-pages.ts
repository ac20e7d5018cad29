/** How much of the database file is empty: pages that deletions left, and that `reclaim` gives back. */
import type { Read } from '../prepared.js'

export function countFreePages(read: Read): number {
  return read<{ freelist_count: number }>('pragma freelist_count', [])[0]?.freelist_count ?? 0
}
