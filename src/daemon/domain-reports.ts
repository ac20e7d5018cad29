/** Wires the reports about domains: which messages are such, and whose domain a name is. */
import type { StartSettings } from '../config/live-config.js'
import { verifiedByName } from '../domains/sending-domains.js'
import { isInside } from '../domains/zone/zone-records.js'
import { type DomainName, domainOf } from '../mail/address.js'
import type { InboundEmail } from '../messages/inbound/inbound-record.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { isAboutDomains } from '../receiving/destinations.js'
import { createDomainReportHandler, type DomainReportHandler } from '../receiving/domain-reports/file-report.js'
import type { DomainRef } from '../receiving/domain-reports/report-records.js'
import { classifyRecipient, type RecipientPolicy } from '../receiving/recipient-policy.js'
import type { Database } from '../storage/database.js'
import { parseJson } from '../storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'

interface DomainReportsDeps {
  readonly config: StartSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Pick<Database, 'read'>
  readonly observers: Pick<Observers, 'onDomainReport'> | null
}

/** Null for a report that is not about a domain. */
export function wireDomainReports(
  { config, clock, log, database: { read }, observers }: DomainReportsDeps,
  policy: RecipientPolicy,
): (email: InboundEmail) => DomainReportHandler | null {
  const { zone, hostname, mail_from } = config.service
  const ownNames: readonly string[] = [zone, hostname, domainOf(mail_from)]
  const findDomain = (name: DomainName): DomainRef | null => {
    const [row] = verifiedByName(read, { domain: name })
    if (row !== undefined) return { workspaceId: row.workspace_id, domainId: row.id }
    const isOwn = ownNames.some((own) => isInside(name, own))
    return isOwn ? { workspaceId: SERVICE_WORKSPACE, domainId: SERVICE_WORKSPACE } : null
  }
  const onOutcome = observers?.onDomainReport ?? (() => undefined)
  const reports = createDomainReportHandler({ read, clock, log, findDomain, onOutcome })
  return ({ envelope_to: addresses }) => {
    const [first] = parseJson(addresses)
    return first !== undefined && isAboutDomains(classifyRecipient(policy, first)) ? reports : null
  }
}
