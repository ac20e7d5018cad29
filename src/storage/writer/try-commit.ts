/** Waits for a commit: true when it was made, false when the world had moved on meanwhile. */
import { WriteConflict } from './write.js'

export async function tryCommit(commit: Promise<void>): Promise<boolean> {
  try {
    await commit
    return true
  } catch (error) {
    if (error instanceof WriteConflict) return false
    throw error
  }
}
