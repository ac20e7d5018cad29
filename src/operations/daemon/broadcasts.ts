/** Wires broadcasts to delivery, limits and caches. */

import type { StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { BroadcastEngine } from '../../outbound/broadcasts/broadcast-engine.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import type { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import type { Limits } from './workspace-limits.js'

interface BroadcastsDeps {
  readonly config: StartSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly suppressions: SuppressionCache
  readonly domains: SendingDomainCache
  readonly limits: Limits
  readonly delivery: Delivery
}

export function wireBroadcasts(deps: BroadcastsDeps): BroadcastEngine {
  const { config, clock, log, database, identity, suppressions, domains, limits } = deps
  const { runner } = deps.delivery
  return new BroadcastEngine({
    read: database.read,
    commit: database.commit,
    clock,
    log,
    secret: identity.returnPathSecret,
    publicUrl: config.service.public_url,
    charge: limits.charge,
    isSuppressed: suppressions.isSuppressed,
    findVerifiedDomain: domains.findVerified,
    // Its bytes are built when its turn comes, because the bytes of other mail have the memory.
    offer: (enqueued) => runner.offer(enqueued),
    delivery: {
      stopBroadcast: (id) => runner.stopBroadcast(id),
      resumeBroadcast: (id, workspaceId) => runner.resumeBroadcast(id, workspaceId),
      rereadQueue: (workspaceId) => runner.markDue(workspaceId, 0),
      isYielding: () => runner.isYielding,
    },
  })
}
