/** The domain that a command names, and the answer that shows it. */

import { type DomainName, parseDomainName } from '../../../base/mail/address.js'
import type { Store } from '../../../base/storage/db/database.js'
import {
  type DomainDetails,
  type RotationResource,
  readDomainDetails,
} from '../../../workspaces/domains/domain-resource.js'
import { domainByName, type SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import { type Answer, type Call, CommandFailed, refuseExtraWords, requiredWord } from './command.js'
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
  return { database, workspaceId: chooseWorkspace(database.read, call.options), domain }
}

export function requireDomain({ database, workspaceId, domain }: ChosenDomain): SendingDomain {
  const row = domainByName(database.read, { workspaceId, domain })[0]
  if (row === undefined) throw new CommandFailed(`${domain} is not registered in this workspace`)
  return row
}

/** `before` are lines above the domain. */
export function showDomain(call: Call, it: ChosenDomain, before: readonly string[] = []): Answer {
  const domain = readDomainDetails(it.database.read, requireDomain(it), call.config.service)
  return { json: domain, lines: [...before, ...formatDomain(domain)] }
}

function formatDomain(domain: DomainDetails): string[] {
  const { mx_record: mx, dmarc_record: dmarc, rotation, fails_at: failsAt } = domain
  return [
    `${domain.domain}  ${domain.status}`,
    ...(failsAt === null ? [] : [`DNS does not have its records any more: sending stops at ${failsAt}.`]),
    '',
    'DNS records to publish:',
    ...domain.dns_records.map(({ name, type, value, status }) => `  ${name}. ${type} ${value}.  (${status})`),
    '',
    'To receive mail, and for its reputation:',
    `  ${mx.name}. MX ${mx.priority} ${mx.value}.  (${mx.status})`,
    `  ${dmarc.name}. TXT "${dmarc.value}"  (${dmarc.status})`,
    '',
    'Not needed, for TLS on the way to it:',
    ...domain.tls_records.map(
      ({ name, type, value }) => `  ${name}. ${type} ${type === 'TXT' ? `"${value}"` : `${value}.`}`,
    ),
    '',
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

function formatInbound({ inbound, status }: DomainDetails): string {
  if (!inbound) return 'Receives no mail.'
  return status === 'verified' ? 'Receives mail.' : 'Receives mail as soon as it is verified.'
}
