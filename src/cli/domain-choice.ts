/** Which domain a command is about, and the answer that shows it. */
import { type DomainDetails, domainDetails, type ShownRotation } from '../domains/domain-resource.js'
import { domainByName, type SendingDomain } from '../domains/sending-domains.js'
import { type DomainName, parseDomainName } from '../mail/address.js'
import type { Database } from '../storage/database.js'
import { type Answer, atMost, type Call, CommandFailed, word } from './command.js'
import { chosenWorkspace } from './workspace-choice.js'

export interface Chosen {
  readonly database: Database
  readonly workspaceId: string
  readonly domain: DomainName
}

export async function chosen(call: Call, most = 1): Promise<Chosen> {
  atMost(call.words, most)
  const domain = parseDomainName(word(call.words, 0, 'NAME'))
  const database = await call.database()
  return { database, workspaceId: chosenWorkspace(database.read, call.options), domain }
}

export function found({ database, workspaceId, domain }: Chosen): SendingDomain {
  const row = domainByName(database.read, { workspaceId, domain })[0]
  if (row === undefined) throw new CommandFailed(`${domain} is not registered in this workspace`)
  return row
}

/** `before`: lines above those that show the domain. */
export function shown(call: Call, it: Chosen, before: readonly string[] = []): Answer {
  const domain = domainDetails(it.database.read, found(it), call.config.service)
  return { json: domain, lines: [...before, ...lines(domain)] }
}

function lines(domain: DomainDetails): string[] {
  const { mx_record: mx, dmarc_record: dmarc, rotation, fails_at: failsAt } = domain
  return [
    `${domain.domain}  ${domain.status}`,
    ...(failsAt === null ? [] : [`DNS does not have its records any more: sending stops at ${failsAt}.`]),
    '',
    'DNS records to publish:',
    ...domain.dns_records.map(({ name, type, value, status }) => `  ${name}. ${type} ${value}.  (${status})`),
    '',
    'To take mail in, and for its reputation:',
    `  ${mx.name}. MX ${mx.priority} ${mx.value}.  (${mx.status})`,
    `  ${dmarc.name}. TXT "${dmarc.value}"  (${dmarc.status})`,
    '',
    'DKIM keys (as TXT records, where CNAMEs are not possible):',
    ...domain.dkim_keys.flatMap(({ name, txt, signing }) => [`  ${name}. TXT "${txt}"${signing ? '  (signs)' : ''}`]),
    ...(rotation === null ? [] : [rotating(rotation)]),
    '',
    takesIn(domain),
    ...(domain.blocked_addresses.length > 0 ? ['Blocked:'] : []),
    ...domain.blocked_addresses.map((address) => `  ${address}`),
  ]
}

function rotating({ selector, state }: ShownRotation): string {
  return state === 'retiring'
    ? `${selector} is to sign; first mail on its way that its old key has signed must have arrived.`
    : `${selector} is to sign, once its key has been in DNS for long enough.`
}

function takesIn({ inbound, status }: DomainDetails): string {
  if (!inbound) return 'Takes no mail in.'
  return status === 'verified' ? 'Takes mail in.' : 'Takes mail in as soon as it is verified.'
}
