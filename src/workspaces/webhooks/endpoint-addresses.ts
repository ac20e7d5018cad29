/**
 * Finds the addresses of endpoints that we may dial. Attempts that begin in the same turn of the event loop share a
 * look-up. Each later attempt looks up and judges again.
 */
import type { AddressGuard } from '../../base/platform/address-guard.js'
import type { Resolver } from '../../base/platform/dns/resolver.js'
import { findHostAddresses, type HostAddresses } from '../../base/platform/http/host-addresses.js'

export interface AddressRules {
  readonly mayConnect: AddressGuard
  readonly resolveAddresses: Resolver['resolveAddresses']
  /** Milliseconds. */
  readonly timeout: () => number
}

export class EndpointAddresses {
  private readonly ofThisTurn = new Map<string, Promise<HostAddresses>>()

  constructor(private readonly rules: AddressRules) {}

  find(url: string): Promise<HostAddresses> {
    const known = this.ofThisTurn.get(url)
    if (known !== undefined) return known
    if (this.ofThisTurn.size === 0) queueMicrotask(() => this.ofThisTurn.clear())
    const found = findWithin(this.rules, new URL(url))
    this.ofThisTurn.set(url, found)
    return found
  }
}

function findWithin(rules: AddressRules, url: URL): Promise<HostAddresses> {
  const timeout = rules.timeout()
  return new Promise((resolve, reject) => {
    const reason = `DNS gave no answer within ${timeout / 1000} s`
    const timer = setTimeout(() => resolve({ kind: 'unresolved', reason }), timeout)
    findHostAddresses(url, rules)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}
