/** Domains in answers: our record, and the names under which clients of Resend read the same facts. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { readDomainDetails, toDomainResource } from '../../../workspaces/domains/domain-resource.js'
import { type SendingDomain, toSwitch } from '../../../workspaces/domains/rows/sending-domains.js'
import type { ZoneNames } from '../../../workspaces/domains/verification/look-up-records.js'
import { detailedDomain, listedDomain, recordStatus } from './domain-fields.js'

const capability = z.enum(['enabled', 'disabled'])

const record = z
  .strictObject({
    record: z.enum(['SPF', 'DKIM', 'Receiving']),
    type: z.enum(['CNAME', 'MX']),
    name: z.string(),
    value: z.string(),
    ttl: z.literal('Auto'),
    status: recordStatus,
    priority: z.literal(10).optional(),
  })
  .meta({ id: 'DomainRecord' })

const alsoListed = {
  object: z.literal('domain'),
  name: z.string().meta({ description: 'The same as `domain`.', example: 'example.com' }),
  capabilities: z.strictObject({ sending: capability, receiving: capability }),
  open_tracking: z.boolean().meta({ description: 'Whether opens are tracked over `/emails` by default.' }),
  click_tracking: z.boolean().meta({ description: 'Whether clicks are tracked over `/emails` by default.' }),
}
type Also = z.output<z.ZodObject<typeof alsoListed>>

export const domainInList = listedDomain.extend(alsoListed).meta({ id: 'ListedDomain' })
export const domainAlone = detailedDomain
  .extend({
    ...alsoListed,
    records: z.array(record).meta({ description: '`dns_records` and `mx_record` in the words of Resend.' }),
  })
  .meta({ id: 'Domain' })

export function toListedDomain(row: SendingDomain, zone: string): ReturnType<typeof toDomainResource> & Also {
  return { ...toDomainResource(row, zone), ...describe(row) }
}

export async function readDomain(
  read: Read,
  row: SendingDomain,
  names: ZoneNames,
): Promise<
  Awaited<ReturnType<typeof readDomainDetails>> & Also & { readonly records: readonly z.output<typeof record>[] }
> {
  const details = await readDomainDetails(read, row, names)
  const senders = details.dns_records.map(({ purpose, type, name, value, status }) => {
    return { record: purpose === 'mail_cname' ? 'SPF' : 'DKIM', type, name, value, ttl: 'Auto', status } as const
  })
  const { relative_name: _relative, ...mx } = details.mx_record
  const receiving = { record: 'Receiving', ttl: 'Auto', ...mx } as const
  return { ...details, ...describe(row), records: details.inbound ? [...senders, receiving] : senders }
}

function describe(row: SendingDomain): Also {
  return {
    object: 'domain',
    name: row.domain,
    capabilities: { sending: 'enabled', receiving: row.inbound === 1 ? 'enabled' : 'disabled' },
    open_tracking: toSwitch(row.track_opens) ?? true,
    click_tracking: toSwitch(row.track_clicks) ?? true,
  }
}
