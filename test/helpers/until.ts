/** Waits for a condition, looking again and again; the limit only ends a test that would never end. */
import { setTimeout as pause } from 'node:timers/promises'

const LOOK = 5
const LIMIT = 20_000

/** Resolves to the first result that is neither false nor null nor undefined. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  limit = LIMIT,
): Promise<Exclude<T, false | null | undefined>> {
  const looks = limit / LOOK
  for (let count = 0; count < looks; count += 1) {
    const found = await look()
    if (found !== false && found !== null && found !== undefined) {
      return found as Exclude<T, false | null | undefined>
    }
    await pause(LOOK)
  }
  throw new Error(`waited too long: ${what}`)
}
