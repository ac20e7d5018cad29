/**
 * Decides whether to use STARTTLS with a host.
 *
 * Opportunistic (RFC 7435): it is used wherever it is offered. A host that offers STARTTLS and then
 * fails at it would never get mail, so it gets plain text for an hour, like a host without STARTTLS.
 * There is no fallback where credentials are sent, where the route asks for TLS, or after a protocol
 * violation such as plain text behind the STARTTLS reply: that may be an attack, and the mail waits. Nor is
 * there one where DANE or MTA-STS demand TLS.
 *
 * Known limit: without such a policy an attacker on the path can provoke the fallback, as they can strip STARTTLS.
 */
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Host } from '../hosts/destination.js'
import { demandsTls } from '../hosts/host-security.js'
import type { SmtpFailure } from '../smtp/send-result.js'
import type { Encryption } from '../smtp/smtp-client.js'

const REMEMBER_TIME = 3_600_000
const MAX_HOSTS = 10_000

/** TLS has failed, and plain text is allowed and may work. */
export function mayFallBackToPlain(host: Host, failure: SmtpFailure): boolean {
  if (host.tls === 'implicit' || host.auth !== null || demandsTls(host)) return false
  if (failure.kind === 'failed' && failure.failure === 'protocol') return false
  return failure.stage === 'starttls' || (failure.kind === 'failed' && failure.failure === 'tls')
}

/** The hosts whose TLS is broken, each for an hour. */
export class BrokenTlsHosts {
  private readonly brokenUntil = createLruCache<number>({ max: MAX_HOSTS })

  remember(host: Host, now: number): void {
    this.brokenUntil.set(keyOf(host), now + REMEMBER_TIME)
  }

  encryptionFor(host: Host, now: number): Encryption {
    if (host.tls === 'implicit' || host.auth !== null || demandsTls(host)) return 'offered'
    return (this.brokenUntil.get(keyOf(host)) ?? 0) > now ? 'none' : 'offered'
  }
}

function keyOf({ mx, address, port }: Host): string {
  return `${mx} ${address} ${port}`
}
