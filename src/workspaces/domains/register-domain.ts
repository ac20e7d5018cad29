/**
 * Registers a sending domain: one commit has the claim, the keys, the audit entry and the event.
 *
 * We check the claim before we make the keys, which takes long, and the unique indexes decide it at the commit. If
 * several registrations run at once, the first one succeeds.
 */

import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import { ConstraintViolated } from '../../base/storage/db/write.js'
import { type Actor, recordAuditEntry } from '../accounts/access/audit-log.js'
import { countDomainCreation } from '../accounts/limits/hourly-limit.js'
import { buildDomain, type DomainRequest, requireClaimable } from './new-domain.js'
import type { SendingDomain } from './rows/sending-domains.js'
import { recordForcedVerification } from './verification/domain-event.js'

interface Registration extends DomainRequest {
  readonly actor: Actor
}

/**
 * Rejects with a Refusal that `requireClaimable` throws, or with `rate-limited`. With `counted`, it counts towards
 * the registrations of the workspace in an hour before it makes the keys, because making keys costs CPU time.
 */
export async function registerDomain(
  { read, commit }: Store,
  registration: Registration,
  counted: boolean,
): Promise<SendingDomain> {
  const { workspaceId, actor, now, domain, forced, inbound } = registration
  await requireClaimable(read, registration)
  if (counted) await countDomainCreation({ read, commit }, workspaceId, now)
  const { row, writes } = await buildDomain(read, registration)
  const details = { domain, inbound, forced }
  const act = recordAuditEntry({ workspaceId, actor, action: 'domain.created', target: row.id, at: now, details })
  try {
    await commit([...writes, act, ...(forced ? [recordForcedVerification(row, now)] : [])])
  } catch (error) {
    if (!(error instanceof ConstraintViolated)) throw error
    // Another registration was first, so the same check as before throws its refusal.
    await requireClaimable(read, registration)
    throw new Refusal('conflict', `${domain} was registered and deleted at the same moment`, { value: domain })
  }
  return row
}
