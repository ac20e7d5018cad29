/**
 * Whether to ask a host for encryption.
 *
 * Opportunistic (RFC 7435): encryption wherever it is offered. A host that offers STARTTLS
 * and then fails at it would never get mail; it is spoken to in plain text for an hour, which
 * is what a host without STARTTLS gets too. Never where credentials are sent, and never where
 * the route asks for TLS. A host that slips plain text under the encryption gets no such
 * indulgence: that is an attack or a fault, and waits.
 *
 * Known limit: somebody on the path can provoke the fallback, as they can strip STARTTLS.
 */
import { createLruCache } from '../../platform/lru-cache.js'
import type { Host } from '../hosts/destination.js'
import type { SmtpFailure } from '../smtp/outcome.js'

/** `offered`: STARTTLS where it is offered; `none`: plain text. */
export type Encryption = 'offered' | 'none'

const REMEMBER_TIME = 3_600_000
const MAX_HOSTS = 10_000

/** TLS has failed in a way that plain text would not. */
export function mayFallBackToPlain(host: Host, trouble: SmtpFailure): boolean {
  if (host.tls === 'implicit' || host.auth !== null) return false
  if (trouble.kind === 'failed' && trouble.failure === 'protocol') return false
  return trouble.stage === 'starttls' || (trouble.kind === 'failed' && trouble.failure === 'tls')
}

/** Hosts whose TLS is broken, for an hour each. */
export class BrokenTlsHosts {
  private readonly brokenUntil = createLruCache<number>({ max: MAX_HOSTS })

  remember(host: Host, now: number): void {
    this.brokenUntil.set(keyOf(host), now + REMEMBER_TIME)
  }

  encryptionFor(host: Host, now: number): Encryption {
    if (host.tls === 'implicit' || host.auth !== null) return 'offered'
    return (this.brokenUntil.get(keyOf(host)) ?? 0) > now ? 'none' : 'offered'
  }
}

function keyOf({ mx, address, port }: Host): string {
  return `${mx} ${address} ${port}`
}
