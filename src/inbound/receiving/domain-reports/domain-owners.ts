/** Finds whose domain a report is about: a workspace that has it verified, or the service itself. */
import type { Config } from '../../../base/config/complete.js'
import { type DomainName, domainOf } from '../../../base/mail/address.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { verifiedByName } from '../../../workspaces/domains/rows/sending-domains.js'
import { isInside } from '../../../workspaces/domains/zone/zone-records.js'
import type { DomainOfReport } from './report-records.js'

export class DomainOwners {
  private readonly ownNames: readonly DomainName[]

  constructor(
    private readonly read: Read,
    { zone, hostname, mail_from: mailFrom }: Pick<Config['service'], 'zone' | 'hostname' | 'mail_from'>,
  ) {
    this.ownNames = [zone, hostname, domainOf(mailFrom)]
  }

  /** Null if it is neither. */
  async find(name: DomainName): Promise<DomainOfReport | null> {
    const [row] = await verifiedByName(this.read, { domain: name })
    if (row !== undefined) return { workspaceId: row.workspace_id, domainId: row.id }
    const isOwn = this.ownNames.some((own) => isInside(name, own))
    return isOwn ? { workspaceId: SERVICE_WORKSPACE, domainId: SERVICE_WORKSPACE } : null
  }
}
