/**
 * Applies what the message itself says about TLS on its way (RFC 8689) to the hosts that were found. Pure.
 *
 * REQUIRETLS allows only hosts whose certificate proves them, which DNSSEC or a policy names. With `TLS-Required: No`
 * no policy of the domain delays the message. Otherwise hosts that their policy excludes are left out; if none is left,
 * the message waits.
 */
import type { TlsRequired } from '../../../base/mail/tls-required.js'
import type { Destination, Host } from '../hosts/destination.js'
import { type HostSecurity, securityOf } from '../hosts/host-security.js'

interface MessageDemand {
  readonly domain: string
  readonly tlsRequired?: TlsRequired | null
  readonly returnPath: string
}

/** `onRefused` is called for each host that its policy excludes. */
export function applyMessageDemand(
  { domain, tlsRequired = null, returnPath }: MessageDemand,
  destination: Destination,
  onRefused: (host: Host) => void,
): Destination {
  if (destination.kind !== 'hosts') return destination
  const { hosts } = destination
  if (tlsRequired === 'no') return { kind: 'hosts', hosts: hosts.map(withoutSecurity) }
  // The common case makes no copy.
  if (tlsRequired === null && hosts.every((host) => securityOf(host).rule.kind !== 'refused')) return destination
  for (const host of new Map(hosts.map((host) => [host.mx, host])).values()) if (isRefused(host)) onRefused(host)
  const allowed = hosts.filter((host) => !isRefused(host))
  if (allowed.length === 0) return toTemporary(domain, hosts)
  if (tlsRequired === null) return { kind: 'hosts', hosts: allowed }
  const provable = allowed.flatMap(toProvableHost)
  if (provable.length > 0) return { kind: 'hosts', hosts: provable }
  // A notification is not lost for want of REQUIRETLS (RFC 8689 section 5).
  return returnPath === '' ? { kind: 'hosts', hosts: allowed } : toUnprovable(domain)
}

function isRefused(host: Host): boolean {
  return securityOf(host).rule.kind === 'refused'
}

function withoutSecurity({ security: _ignored, ...host }: Host): Host {
  return host
}

/** Returns an empty list if no certificate would prove the host. */
function toProvableHost(host: Host): readonly Host[] {
  if (host.tls === 'implicit') return [host]
  const { rule, applied } = securityOf(host)
  // The operator has named the host of a route, so its name is trusted.
  const isNameTrusted = host.security === undefined || host.security.isNameTrusted
  if ((rule.kind === 'dane' && rule.records.length > 0) || rule.kind === 'sts-enforce') return [host]
  const security: HostSecurity = { rule: { kind: 'verified' }, isNameTrusted, applied }
  return isNameTrusted ? [{ ...host, security }] : []
}

function toTemporary(domain: string, hosts: readonly Host[]): Destination {
  const faults = hosts.flatMap((host) => {
    const { rule } = securityOf(host)
    return rule.kind === 'refused' ? [{ reason: rule.reason, text: `${host.mx}: ${rule.text}` }] : []
  })
  const texts = [...new Set(faults.map(({ text }) => text))]
  const isDns = faults.some(({ reason }) => reason === 'dns')
  return {
    kind: 'temporary',
    reason: isDns ? 'dns' : 'tls',
    response: `no mail host of ${domain} may be called: ${texts.join('; ')}`,
    status: isDns ? '4.7.5' : '4.7.4',
  }
}

/** Such a message is returned (RFC 8689 section 4.2.1). */
function toUnprovable(domain: string): Destination {
  return {
    kind: 'refused',
    reason: 'tls',
    status: '5.7.30',
    response: `REQUIRETLS support required: neither DNSSEC nor an MTA-STS policy proves the mail hosts of ${domain}`,
    recipientsFault: false,
  }
}
