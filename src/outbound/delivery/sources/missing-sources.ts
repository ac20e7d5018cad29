/**
 * Remembers source addresses that this machine turned out not to have. Each is left out for a minute, so that an
 * address that comes back is used again.
 */
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'

const LEFT_OUT_FOR = 60_000

/** The missing addresses. There are never more than the configured ones. */
export class MissingSources {
  private readonly until = new Map<string, number>()

  constructor(private readonly deps: { readonly clock: Clock; readonly log: Log }) {}

  /** Adds an address, and logs it once a minute, not for each message. */
  add(address: string): void {
    if (this.has(address)) return
    this.until.set(address, this.deps.clock() + LEFT_OUT_FOR)
    this.deps.log.error({ source: address }, 'a source address is not an address of this machine and is left out')
  }

  has(address: string): boolean {
    const until = this.until.get(address)
    if (until === undefined) return false
    const left = until - this.deps.clock()
    if (left > 0 && left <= LEFT_OUT_FOR) return true
    this.until.delete(address)
    return false
  }
}
