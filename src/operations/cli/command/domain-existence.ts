/** Asks DNS whether a domain that is to be registered exists: one that does not is probably misspelt. */
import type { DomainName } from '../../../base/mail/address.js'
import { openDomainResolver } from '../../../workspaces/domains/domain-resolver.js'
import type { Call } from './command.js'

/** Milliseconds. The command does not wait longer for a warning. */
const MAX_WAIT = 3_000

/** The warning that the domain does not exist, or nothing: a DNS that does not answer says nothing about the domain. */
export async function findNoDomain(
  { config, clock }: Pick<Call, 'config' | 'clock'>,
  domain: DomainName,
): Promise<readonly string[]> {
  const resolver = openDomainResolver(config, clock, AbortSignal.timeout(MAX_WAIT))
  const { kind } = await resolver.resolveMx(domain)
  if (kind !== 'no-domain') return []
  return [`${domain} does not exist in DNS: is it spelt right? "posthorn domain delete ${domain}" removes it`]
}
