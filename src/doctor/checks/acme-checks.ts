/** Checks the certificates from the ACME server: their days, and whether the last try to get each has failed. */
import { CertificateFiles } from '../../certificates/certificate-files.js'
import { listMailHosts, listServiceNames } from '../../certificates/certificate-names.js'
import type { NameRecord } from '../../certificates/name-record.js'
import {
  type CertificateFacts,
  daysLeft,
  expiresSoon,
  isValidAt,
  readCertificateFacts,
} from '../../certificates/renewal-plan.js'
import type { DomainName } from '../../mail/address.js'
import { formatTimestamp } from '../../platform/clock.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, warning } from '../finding.js'

export const acmeChecks: readonly Check[] = [
  { name: 'acme', summary: 'each name has a certificate of the ACME server, and renewals succeed', run: checkNames },
]

export interface OrderedCertificate {
  readonly name: DomainName
  /** Null: there is no certificate, or its file cannot be used. */
  readonly facts: CertificateFacts | null
  readonly record: Pick<NameRecord, 'fault' | 'nextTryAt'>
}

async function checkNames({ config, read, clock, signal }: CheckDeps): Promise<readonly Judgement[]> {
  if (!config.tls.acme.enabled) return []
  const files = new CertificateFiles(config.service.data_dir)
  const service = listServiceNames(config)
  const judgements: Judgement[] = []
  for (const name of service) judgements.push(judgeName(await readOrdered(files, name), clock(), true))
  const hosts: OrderedCertificate[] = []
  for (const name of read === null ? [] : await listMailHosts(read)) {
    signal.throwIfAborted()
    if (!service.includes(name)) hosts.push(await readOrdered(files, name))
  }
  return [...judgements, ...judgeMailHosts(hosts, clock())]
}

async function readOrdered(files: CertificateFiles, name: DomainName): Promise<OrderedCertificate> {
  const [pair, record] = [await files.readPair(name), await files.readRecord(name)]
  return { name, facts: pair === null ? null : readFacts(pair.cert), record }
}

function readFacts(cert: string): CertificateFacts | null {
  try {
    return readCertificateFacts(cert)
  } catch {
    return null
  }
}

/** Those that are as they should be are one finding: there may be thousands. */
export function judgeMailHosts(hosts: readonly OrderedCertificate[], now: number): readonly Judgement[] {
  const wrong = hosts.map((host) => judgeName(host, now, false)).filter(({ state }) => state !== 'ok')
  const rest = hosts.length - wrong.length
  if (rest === 0) return wrong
  const ends = hosts.flatMap(({ facts }) => (facts !== null && isValidAt(facts, now) ? [facts.to] : []))
  const first = ends.length === 0 ? '' : `, the first expires ${formatTimestamp(ends.reduce((a, b) => Math.min(a, b)))}`
  const text = `${rest} of ${hosts.length} have a certificate or will be tried soon${first}`
  return [...wrong, good('mail hosts', text)]
}

/** `isService`: a name of the service; without a certificate its clients fail, those of a mail host use another name. */
export function judgeName(
  { name, facts, record: { fault, nextTryAt } }: OrderedCertificate,
  now: number,
  isService: boolean,
): Judgement {
  const remedy = [
    'see "When it does not work" in docs/certificates.md',
    `posthorn certificates renew ${name}   # once the cause is mended: tries at once`,
  ]
  const reason = fault === null ? '' : `: ${fault}`
  const next = nextTryAt > now ? `, the next try is at ${formatTimestamp(nextTryAt)}` : ''
  const judge = isService ? failure : warning
  if (facts === null && fault === null) return good(name, 'no certificate yet: the daemon orders it')
  if (facts === null) return judge(name, `no certificate${reason}${next}`, remedy)
  const days = daysLeft(facts, now)
  if (!isValidAt(facts, now)) return judge(name, `the certificate expired ${-days} days ago${reason}${next}`, remedy)
  if (expiresSoon(facts, now)) return judge(name, `the certificate expires in ${days} days${reason}${next}`, remedy)
  if (fault !== null) return warning(name, `the renewal has failed${reason}${next}; valid for ${days} days`, remedy)
  return good(name, `valid for ${days} days`)
}
