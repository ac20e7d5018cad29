/** The refusal that a function throws. */
import { Refusal } from '../../src/base/mail/refusal.js'

export function catchRefusal(work: () => unknown): Refusal {
  try {
    work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('not refused')
}
