/** The domain that a command names, and the answer that shows it. */

import { type DomainName, parseDomainName } from '../../../base/mail/address.js'
import type { Store } from '../../../base/storage/db/database.js'
import { dkimKeysOf } from '../../../workspaces/domains/dkim/signing-keys.js'
import {
  type DomainDetails,
  type RotationResource,
  readDomainDetails,
} from '../../../workspaces/domains/domain-resource.js'
import { domainByName, type SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import { listDomainRecords, type PublishedRecord } from '../../../workspaces/domains/zone/publication.js'
import { toZoneSettings } from '../../../workspaces/domains/zone/zone-records.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords, requiredWord } from './command.js'
import { formatForPeople } from './record-lines.js'
import { chooseWorkspace } from './workspace-choice.js'

export interface ChosenDomain {
  readonly database: Store
  readonly workspaceId: string
  readonly domain: DomainName
}

export async function chooseDomain(call: Call, maxWords = 1): Promise<ChosenDomain> {
  refuseExtraWords(call.words, maxWords)
  const domain = parseDomainName(requiredWord(call.words, 0, 'NAME'))
  const database = await call.database()
  return { database, workspaceId: await chooseWorkspace(database.read, call.options), domain }
}

export async function requireDomain({ database, workspaceId, domain }: ChosenDomain): Promise<SendingDomain> {
  const row = (await domainByName(database.read, { workspaceId, domain }))[0]
  if (row === undefined) throw new CommandFailed(`${domain} is not registered in this workspace`)
  return row
}

/** `before` are lines above the domain. */
export async function showDomain(call: Call, it: ChosenDomain, before: readonly string[] = []): Promise<Answer> {
  const { domain, records } = await readDomain(call, it)
  return { json: { ...domain, records }, lines: [...before, ...formatDomain(domain, records)] }
}

/** What the command line shows of a domain. */
export interface ShownDomain {
  readonly domain: DomainDetails
  readonly records: readonly PublishedRecord[]
}

export async function readDomain({ config }: Call, it: ChosenDomain): Promise<ShownDomain> {
  const { read } = it.database
  const row = await requireDomain(it)
  const keys = await dkimKeysOf(read, { workspaceId: row.workspace_id, domain: row.domain })
  const records = listDomainRecords(toZoneSettings(config), row, keys)
  return { domain: await readDomainDetails(read, row, config.service), records }
}

/** What the last check found of each record of the domain, by its name and type. */
function findState(domain: DomainDetails, { name, type }: PublishedRecord): string {
  const known = [...domain.dns_records, domain.mx_record, domain.dmarc_record]
  return known.find((one) => one.name === name && one.type === type)?.status ?? ''
}

/** The records with their states, required ones first. */
export function formatRecordsOf({ domain, records }: ShownDomain): readonly string[] {
  return formatForPeople(records, (record) => findState(domain, record))
}

function formatDomain(domain: DomainDetails, records: readonly PublishedRecord[]): string[] {
  const { rotation, fails_at: failsAt } = domain
  return [
    `${domain.domain}  ${domain.status}`,
    ...(failsAt === null ? [] : [`DNS no longer has its records: sending stops at ${failsAt}.`]),
    '',
    ...formatRecordsOf({ domain, records }),
    'DKIM keys (as TXT records, where CNAMEs are not possible):',
    ...domain.dkim_keys.flatMap(({ name, txt, signing }) => [`  ${name}. TXT "${txt}"${signing ? '  (signs)' : ''}`]),
    ...(rotation === null ? [] : [formatRotation(rotation)]),
    '',
    formatInbound(domain),
    ...(domain.blocked_addresses.length > 0 ? ['Blocked:'] : []),
    ...domain.blocked_addresses.map((address) => `  ${address}`),
  ]
}

function formatRotation({ selector, state }: RotationResource): string {
  return state === 'retiring'
    ? `${selector} is to sign; first mail on its way that its old key has signed must have arrived.`
    : `${selector} is to sign, once its key has been in DNS for long enough.`
}

export function formatInbound({ inbound, status }: DomainDetails): string {
  if (!inbound) return 'Receives no mail.'
  return status === 'verified' ? 'Receives mail.' : 'Receives mail as soon as it is verified.'
}
