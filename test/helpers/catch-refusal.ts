/** The refusal that a function throws. */
import { Refusal } from '../../src/base/mail/refusal.js'

export async function catchRefusal(work: () => unknown): Promise<Refusal> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('not refused')
}
