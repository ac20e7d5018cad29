/** Checks the certificates from the ACME server: their days, and whether the last try to get each has failed. */

import type { Config } from '../../../base/config/complete.js'
import type { DomainName } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { mailTargetOf } from '../../../workspaces/domains/verification/dns-records.js'
import { listMailHosts, listServiceNames } from '../../certificates/certificate-names.js'
import { readFacts } from '../../certificates/certificate-rows.js'
import type { NameRecord } from '../../certificates/name-record.js'
import { readState } from '../../certificates/name-rows.js'
import {
  type CertificateFacts,
  daysLeft,
  expiresSoon,
  isValidAt,
  renewalTimeOf,
} from '../../certificates/renewal-plan.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, warning } from '../finding.js'
import { isPublicAddress } from '../sources.js'

export const acmeChecks: readonly Check[] = [
  { name: 'acme', summary: 'each name has a certificate of the ACME server, and renewals succeed', run: checkNames },
]

/** Hosts that are judged at a time. */
const HOST_STEP = 250

export interface OrderedCertificate {
  readonly name: DomainName
  /** Null if there is no certificate. */
  readonly facts: CertificateFacts | null
  readonly record: Pick<NameRecord, 'fault' | 'nextTryAt'>
}

async function checkNames({ config, read, clock, signal, ownAddresses }: CheckDeps): Promise<readonly Judgement[]> {
  if (!config.tls.acme.enabled || read === null) return []
  const service = listServiceNames(config)
  const addresses = listPublicAddresses(config, ownAddresses)
  const mailTarget = [`CNAME ${mailTargetOf(config.service.zone)}.`]
  const judgements: Judgement[] = []
  for (const name of service) {
    judgements.push(judgeName(await readOrdered(read, name), clock(), { isService: true, records: addresses }))
  }
  const hosts: OrderedCertificate[] = []
  for (const name of await listMailHosts(read)) {
    signal.throwIfAborted()
    if (!service.includes(name)) hosts.push(await readOrdered(read, name))
  }
  return [...judgements, ...(await judgeMailHosts(hosts, clock(), mailTarget))]
}

/** The records of a name of the service, without the name. */
function listPublicAddresses({ service }: Pick<Config, 'service'>, ownAddresses: readonly string[]): readonly string[] {
  const { public_addresses: published } = service
  const addresses = published.length > 0 ? published : ownAddresses.filter(isPublicAddress)
  return addresses.map((address) => `${address.includes(':') ? 'AAAA' : 'A'} ${address}`)
}

async function readOrdered(read: Read, name: DomainName): Promise<OrderedCertificate> {
  const [facts, { record }] = [await readFacts(read, name), await readState(read, name)]
  return { name, facts, record }
}

/** All hosts in order are one finding. There may be thousands of hosts, so they are judged in steps. */
export async function judgeMailHosts(
  hosts: readonly OrderedCertificate[],
  now: number,
  records: readonly string[],
): Promise<readonly Judgement[]> {
  const wrong: Judgement[] = []
  let firstEnd = Number.POSITIVE_INFINITY
  for (const [at, host] of hosts.entries()) {
    if (at % HOST_STEP === 0) await waitForStep()
    const judgement = judgeName(host, now, { isService: false, records })
    if (judgement.state !== 'ok') wrong.push(judgement)
    if (host.facts !== null && isValidAt(host.facts, now)) firstEnd = Math.min(firstEnd, host.facts.to)
  }
  const rest = hosts.length - wrong.length
  if (rest === 0) return wrong
  const first = Number.isFinite(firstEnd) ? `; the first certificate expires at ${formatTimestamp(firstEnd)}` : ''
  const text = `${rest} of ${hosts.length} names have a certificate or will get one soon${first}`
  return [...wrong, good('mail hosts', text)]
}

interface NameFacts {
  /**
   * It is a name of the service: if it has no certificate, its clients fail. For a mail host, links in mail use another
   * name then.
   */
  readonly isService: boolean
  /** The records that the name should have in DNS, such as `A 192.0.2.1`. */
  readonly records: readonly string[]
}

export function judgeName(
  { name, facts, record: { fault, nextTryAt } }: OrderedCertificate,
  now: number,
  { isService, records }: NameFacts,
): Judgement {
  const remedy: Remedy = [
    ...remediesOf(name, fault ?? '', records),
    `posthorn certificates renew ${name}   # once the cause is repaired: tries at once`,
  ]
  const reason = fault === null ? '' : `: ${fault}`
  // After a renewal that was asked for too early, nothing is tried before it is due.
  const nextAt = Math.max(nextTryAt, facts === null ? 0 : renewalTimeOf(facts, null))
  const next = nextTryAt > now ? `, the next try is at ${formatTimestamp(nextAt)}` : ''
  const judge = isService ? failure : warning
  if (facts === null && fault === null) return good(name, 'there is no certificate yet, and the daemon orders one')
  if (facts === null) return judge(name, `there is no certificate${reason}${next}`, remedy)
  const days = daysLeft(facts, now)
  if (!isValidAt(facts, now)) return judge(name, `the certificate expired ${-days} days ago${reason}${next}`, remedy)
  if (expiresSoon(facts, now)) return judge(name, `the certificate expires in ${days} days${reason}${next}`, remedy)
  if (fault !== null)
    return warning(name, `the renewal has failed${reason}${next}; the certificate is valid for ${days} days`, remedy)
  return good(name, `the certificate is valid for ${days} days`)
}

/** Chosen by the words of our own check before an order, and by the type of the server's problem. */
function remediesOf(name: DomainName, fault: string, records: readonly string[]): readonly string[] {
  const faultsOfDns = ['does not exist in DNS', 'has no A or AAAA record', 'is not an address of this machine']
  if (faultsOfDns.some((words) => fault.includes(words))) return records.map((record) => `${name}. ${record}`)
  if (fault.startsWith('connection:') || fault.includes('Timeout')) {
    return [
      `nc -vz ${name} 80   # from another machine: the firewall must let it in, for IPv6 too if there is an AAAA record`,
    ]
  }
  if (fault.startsWith('caa:')) return [`dig +short CAA ${name}   # must name the authority, or be empty`]
  return ['see "When it does not work" in docs/certificates.md']
}
