/**
 * The records from which other servers learn that mail to us is encrypted, and where to report that it is not:
 * MTA-STS (RFC 8461 section 3.1) and TLS-RPT (RFC 8460 section 3). Pure.
 */
import { policyHostOf } from '../mta-sts/own-policy.js'

/** The text at `_smtp._tls` of a domain whose reports we read. */
function tlsReportRecordOf(zone: string): string {
  return `v=TLSRPTv1; rua=mailto:tlsrpt@${zone}`
}

/** A record that the owner of a domain may publish. */
export interface TlsRecord {
  readonly type: 'CNAME' | 'TXT'
  readonly name: string
  readonly value: string
}

/**
 * Our policy and our reports for a domain whose only MX is ours. The id of the policy follows ours (RFC 8461 section
 * 8.2).
 */
export function listTlsRecords(domain: string, zone: string): readonly TlsRecord[] {
  return [
    { type: 'CNAME', name: policyHostOf(domain), value: policyHostOf(zone) },
    { type: 'CNAME', name: `_mta-sts.${domain}`, value: `_mta-sts.${zone}` },
    { type: 'TXT', name: `_smtp._tls.${domain}`, value: tlsReportRecordOf(zone) },
  ]
}

interface PolicyRecord {
  readonly name: string
  readonly text: string
}

/** A null `policyId` means that we publish no policy. */
export function buildPolicyRecords(
  zone: string,
  domains: readonly string[],
  policyId: string | null,
): readonly PolicyRecord[] {
  const reports = domains.map((domain) => ({ name: `_smtp._tls.${domain}`, text: tlsReportRecordOf(zone) }))
  return policyId === null ? reports : [{ name: `_mta-sts.${zone}`, text: `v=STSv1; id=${policyId};` }, ...reports]
}

/** The hosts of the zone that need addresses for the policy. */
export function listPolicyHosts(zone: string, policyId: string | null): readonly string[] {
  return policyId === null ? [] : [policyHostOf(zone)]
}
