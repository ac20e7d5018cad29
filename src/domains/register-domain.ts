/**
 * Registers a sending domain: claim, keys and the word in the audit log in one commit.
 *
 * The claim is looked at before the keys are made, which takes long, and decided by the
 * unique indexes when all is written: of several at once the first one has it.
 */
import { type Actor, recordAuditEntry } from '../accounts/audit-log.js'
import { countDomainCreation } from '../accounts/limits/domain-creations.js'
import { Refusal } from '../mail/refusal.js'
import type { Store } from '../storage/database.js'
import { ConstraintViolated } from '../storage/writer/write.js'
import { buildDomain, type DomainRequest, requireClaimable } from './new-domain.js'
import type { SendingDomain } from './sending-domains.js'

export interface Registration extends DomainRequest {
  readonly actor: Actor
}

/**
 * Throws a Refusal as `refuseClaim` does, and `rate-limited`. `counted`: against the number
 * that a workspace may register in an hour; before the keys are made, so that nobody keeps
 * the machine busy making keys.
 */
export async function registerDomain(
  { read, commit }: Store,
  wanted: Registration,
  counted: boolean,
): Promise<SendingDomain> {
  const { workspaceId, actor, now, domain, forced, inbound } = wanted
  requireClaimable(read, wanted)
  if (counted) await countDomainCreation({ read, commit }, workspaceId, now)
  const { row, writes } = await buildDomain(read, wanted)
  const details = { domain, inbound, forced }
  const act = recordAuditEntry({ workspaceId, actor, action: 'domain.created', target: row.id, at: now, details })
  try {
    await commit([...writes, act])
  } catch (error) {
    if (!(error instanceof ConstraintViolated)) throw error
    // Somebody was faster: the same look as before says who.
    requireClaimable(read, wanted)
    throw new Refusal('conflict', `${domain} was registered and deleted again at this moment`, { value: domain })
  }
  return row
}
