/**
 * Decides who gets a copy of an inbound message. Pure.
 *
 * A workspace gets one record, however many of its addresses are recipients. A message about mail that we sent
 * (return paths, complaints, unsubscribe requests) is one report and belongs to no workspace; a report about domains
 * is another. A message to an invalid return path alone is discarded.
 */

import { type Address, type DomainName, domainOf } from '../../../base/mail/address.js'
import type { OperatorWorkspaceCache } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import type { InboundRecipient, RecipientPolicy } from './recipient-policy.js'

interface MailDestination {
  readonly kind: 'mail'
  readonly workspaceId: string
  /** The domain of the first address. */
  readonly domain: DomainName
  readonly addresses: readonly Address[]
}

interface ReportDestination {
  readonly kind: 'report'
  readonly addresses: readonly Address[]
}

export type InboundDestination = MailDestination | ReportDestination

export interface Destinations {
  readonly destinations: readonly InboundDestination[]
  /** Return paths without a valid token. */
  readonly ignoredAddresses: readonly Address[]
  /**
   * Addresses that were accepted at RCPT and are no longer valid: the domain was removed, the address was blocked, or
   * the operator's workspace is gone.
   */
  readonly goneAddresses: readonly Address[]
}

/** Who gets the copy. Null for an invalid return path, which gets none. */
type CopyOwner =
  | { readonly kind: 'workspace'; readonly id: string }
  | { readonly kind: 'reports' }
  | { readonly kind: 'domain-reports' }
  | null

/**
 * `refused`: the recipient is not accepted. `unowned`: it is deferred, because there is no operator's workspace. This
 * takes a read of the database, which is made only if it matters.
 */
export async function findCopyOwner(
  recipient: InboundRecipient,
  operatorWorkspace: Pick<OperatorWorkspaceCache, 'find'>,
): Promise<CopyOwner | 'refused' | 'unowned'> {
  switch (recipient.kind) {
    case 'mailbox':
      return { kind: 'workspace', id: recipient.workspaceId }
    case 'return-path':
      return recipient.recipientId === null ? null : { kind: 'reports' }
    case 'forwarded-sender':
      return { kind: 'reports' }
    case 'system':
      if (recipient.name === 'fbl' || recipient.name === 'unsubscribe') return { kind: 'reports' }
      if (isAboutDomains(recipient)) return { kind: 'domain-reports' }
      return toOwner(await operatorWorkspace.find())
    case 'refused':
      return 'refused'
  }
}

function toOwner(workspaceId: string | null): CopyOwner | 'unowned' {
  return workspaceId === null ? 'unowned' : { kind: 'workspace', id: workspaceId }
}

/** Whether its mail is reports about domains, by DMARC or about TLS. */
export function isAboutDomains(recipient: InboundRecipient): boolean {
  return recipient.kind === 'system' && (recipient.name === 'dmarc' || recipient.name === 'tlsrpt')
}

export async function resolveDestinations(
  addresses: readonly Address[],
  policy: Pick<RecipientPolicy, 'classify'>,
  operatorWorkspace: Pick<OperatorWorkspaceCache, 'find'>,
): Promise<Destinations> {
  const mail = new Map<string, Address[]>()
  const reports: Address[] = []
  const domainReports: Address[] = []
  const ignoredAddresses: Address[] = []
  const goneAddresses: Address[] = []
  for (const address of addresses) {
    const owner = await findCopyOwner(await policy.classify(address), operatorWorkspace)
    if (owner === 'refused' || owner === 'unowned') goneAddresses.push(address)
    else if (owner === null) ignoredAddresses.push(address)
    else if (owner.kind === 'reports') reports.push(address)
    else if (owner.kind === 'domain-reports') domainReports.push(address)
    else mail.set(owner.id, [...(mail.get(owner.id) ?? []), address])
  }
  const filed: InboundDestination[] = [...mail].map(([workspaceId, own]) => toMailDestination(workspaceId, own))
  const read = [reports, domainReports].filter((own) => own.length > 0)
  return {
    destinations: [...filed, ...read.map((own): InboundDestination => ({ kind: 'report', addresses: own }))],
    ignoredAddresses,
    goneAddresses,
  }
}

function toMailDestination(workspaceId: string, addresses: readonly Address[]): MailDestination {
  const [first] = addresses
  if (first === undefined) throw new Error('a copy of a message has no recipient')
  return { kind: 'mail', workspaceId, domain: domainOf(first), addresses }
}
