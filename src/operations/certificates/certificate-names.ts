/**
 * The names that get certificates: those of the service, and of each verified domain its mail host and policy host.
 *
 * A name is skipped that no certificate authority can validate: `localhost`, a name of one label, an address.
 */
import { isIP } from 'node:net'
import type { StartSettings } from '../../base/config/live-config.js'
import { type DomainName, tryParseDomainName } from '../../base/mail/address.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import { policyHostOf } from '../../workspaces/domains/mta-sts/own-policy.js'
import { mailHostOf, type SendingDomain, verifiedAfter } from '../../workspaces/domains/rows/sending-domains.js'
import { parseRecordStates } from '../../workspaces/domains/verification/check-outcome.js'

export function listServiceNames({
  service,
  inbound,
  api,
}: Pick<StartSettings, 'service' | 'inbound' | 'api'>): DomainName[] {
  const servesTls = api.listen.some(({ kind }) => kind === 'tls')
  const publicHost = tryParseDomainName(new URL(service.public_url).hostname)
  const policyHost = tryParseDomainName(policyHostOf(service.zone))
  const names = [
    service.hostname,
    ...(servesTls && publicHost !== null ? [publicHost] : []),
    ...(inbound.listen.length > 0 ? [service.inbound_mx_host] : []),
    ...(servesTls && policyHost !== null && inbound.mta_sts !== 'off' ? [policyHost] : []),
  ]
  return [...new Set(names)].filter(canBeValidated)
}

/** Works in steps, because an installation may have thousands of domains. */
export async function listMailHosts(read: Read): Promise<DomainName[]> {
  const names: DomainName[] = []
  let after = ''
  for (;;) {
    await waitForStep()
    const page = await verifiedAfter(read, { after, limit: ROW_STEP })
    names.push(...page.flatMap(listHostsOf).filter(canBeValidated))
    const last = page.at(-1)
    if (last === undefined || page.length < ROW_STEP) return names
    after = last.domain
  }
}

/** The host of its MTA-STS policy too, if DNS has led it to us. */
function listHostsOf(row: Pick<SendingDomain, 'domain' | 'record_states'>): DomainName[] {
  const host = parseRecordStates(row).policy_host === 'verified' ? tryParseDomainName(policyHostOf(row.domain)) : null
  return [mailHostOf(row.domain), ...(host === null ? [] : [host])]
}

function canBeValidated(name: DomainName): boolean {
  return name.includes('.') && isIP(name) === 0 && !name.endsWith('.localhost')
}
