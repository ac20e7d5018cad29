/** Waits for a condition by polling; the limit only ends a test that would never end. */
import { setTimeout as pause } from 'node:timers/promises'

const POLL_INTERVAL = 5
const TIMEOUT = 20_000

/** Resolves to the first result that is neither false nor null nor undefined. */
export async function waitUntil<T>(
  what: string,
  look: () => T | Promise<T>,
  limit = TIMEOUT,
): Promise<Exclude<T, false | null | undefined>> {
  const looks = limit / POLL_INTERVAL
  for (let count = 0; count < looks; count += 1) {
    const found = await look()
    if (found !== false && found !== null && found !== undefined) {
      return found as Exclude<T, false | null | undefined>
    }
    await pause(POLL_INTERVAL)
  }
  throw new Error(`waited too long: ${what}`)
}
