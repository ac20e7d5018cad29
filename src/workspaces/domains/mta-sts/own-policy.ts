/**
 * Our own MTA-STS policy (RFC 8461 section 3). It asks senders to bring mail for the service zone, and for
 * customers' domains whose MX is ours, to `service.inbound_mx_host` over verified TLS. Pure.
 */
import { createHash } from 'node:crypto'
import type { StartSettings } from '../../../base/config/live-config.js'
import { type DomainName, tryParseDomainName } from '../../../base/mail/address.js'

interface OwnPolicy {
  /** The policy file. */
  readonly text: string
  /** The id in the TXT record. Another text has another id. */
  readonly id: string
}

const HOST_LABEL = 'mta-sts.'
/** RFC 8461 section 3.1 allows 32 characters. */
const ID_LENGTH = 32

type PolicySettings = Pick<StartSettings, 'inbound' | 'service'>

/** Null means that we publish none. */
export function buildOwnPolicy({ inbound, service }: PolicySettings): OwnPolicy | null {
  const { mta_sts: mode, mta_sts_max_age: maxAge } = inbound
  if (mode === 'off') return null
  const lines = ['version: STSv1', `mode: ${mode}`, `mx: ${service.inbound_mx_host}`]
  const text = [...lines, `max_age: ${Math.round(maxAge / 1_000)}`, ''].join('\r\n')
  return { text, id: createHash('sha256').update(text).digest('hex').slice(0, ID_LENGTH) }
}

/** The host that serves a domain's policy. */
export function policyHostOf(domain: string): string {
  return `${HOST_LABEL}${domain}`
}

/** The domain that has this policy host. It is null if this is not the name of a policy host. */
export function domainOfPolicyHost(host: string): DomainName | null {
  return host.startsWith(HOST_LABEL) ? tryParseDomainName(host.slice(HOST_LABEL.length)) : null
}
