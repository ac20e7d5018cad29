/** Waits for a commit: true when it was made, false when the world had moved on meanwhile. */
import { Missed } from './write.js'

export async function unlessMissed(commit: Promise<void>): Promise<boolean> {
  try {
    await commit
    return true
  } catch (error) {
    if (error instanceof Missed) return false
    throw error
  }
}
