/** Words for reports about domains. */
import type { components } from '../../api/schema.d.ts'

export type DetailedReport = components['schemas']['DetailedDomainReport']

const types: Readonly<Record<DetailedReport['type'], string>> = {
  dmarc_aggregate: 'Mail in the name of the domain',
  dmarc_failure: 'One message that failed',
  tls: 'Encrypted connections',
}

export function describeReportType(type: DetailedReport['type']): string {
  return types[type]
}
