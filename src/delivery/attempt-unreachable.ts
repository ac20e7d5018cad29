/**
 * Hosts that could not be reached, for a short while, so that a queue of thousands does not
 * wait half a minute a message for one dead server.
 *
 * 30 s after the first failure, doubled by each further one up to 5 minutes. Failures that
 * fall together count once. What was learnt is forgotten on success and lost on restart.
 */
import type { Host } from './destination.js'
import type { Trouble } from './smtp-client-outcome.js'

const FIRST_WAIT = 30_000
const LONGEST_WAIT = 300_000
const MAX_HOSTS = 10_000

interface Unreachable {
  readonly until: number
  readonly wait: number
  readonly trouble: Trouble
}

export class UnreachableHosts {
  readonly #hosts = new Map<string, Unreachable>()

  /** Why the host should not be called now; null: it may. */
  trouble(host: Host, now: number): Trouble | null {
    const known = this.#hosts.get(keyOf(host))
    return known !== undefined && known.until > now ? known.trouble : null
  }

  /** What came of calling it; null: it answered. */
  learn(host: Host, trouble: Trouble | null, now: number): void {
    const key = keyOf(host)
    const known = this.#hosts.get(key)
    if (trouble === null || !isUnreachable(trouble)) {
      this.#hosts.delete(key)
      return
    }
    if (known !== undefined && known.until > now) return
    const wait = known === undefined ? FIRST_WAIT : Math.min(known.wait * 2, LONGEST_WAIT)
    this.#hosts.delete(key)
    this.#hosts.set(key, { until: now + wait, wait, trouble })
    const [oldest] = this.#hosts.keys()
    if (this.#hosts.size > MAX_HOSTS && oldest !== undefined) this.#hosts.delete(oldest)
  }
}

/** No connection, or one at which nobody speaks. A server that hangs up may only be full. */
function isUnreachable(trouble: Trouble): boolean {
  if (trouble.kind !== 'failed') return false
  return trouble.stage === 'connect'
    ? trouble.failure !== 'tls'
    : trouble.stage === 'banner' && trouble.failure === 'timeout'
}

function keyOf({ address, port }: Host): string {
  return `${address} ${port}`
}
