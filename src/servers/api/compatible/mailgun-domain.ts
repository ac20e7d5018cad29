/** Finds the domain in a path of Mailgun's clients, and names the objects that their routes use. */
import { type DomainName, formatForDisplay, tryParseDomainName } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Store } from '../../../base/storage/db/database.js'
import { domainByName } from '../../../workspaces/domains/rows/sending-domains.js'
import type { EmailAcceptance } from '../emails/email-acceptance.js'
import type { MessageAcceptance } from '../emails/message-acceptance.js'
import type { Call } from '../http/route/route.js'

export interface MailgunDeps extends Store {
  readonly acceptance: EmailAcceptance
  readonly messages: MessageAcceptance
  /** The right side of Message-IDs. */
  readonly hostname: string
  /** The beginning of URLs of pages, without a slash at the end. */
  readonly publicUrl: string
}

/** The domain in the path. Throws a Refusal `domain-not-found` if the workspace has none of this name. */
export async function requireDomain(
  { read }: Store,
  { principal, params }: Call<unknown, unknown>,
): Promise<DomainName> {
  const given = params['domain'] ?? ''
  const domain = tryParseDomainName(given)
  const [row] = domain === null ? [] : await domainByName(read, { workspaceId: principal.workspaceId, domain })
  if (row !== undefined) return row.domain
  const shown = formatForDisplay(given)
  throw new Refusal('domain-not-found', `Domain not found: ${shown}`, { domain: shown })
}
