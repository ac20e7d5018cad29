/** Wires broadcasts to delivery, limits and caches. */
import { BroadcastEngine } from '../broadcasts/broadcast-engine.js'
import type { StartSettings } from '../config/live-config.js'
import type { Delivery } from '../delivery/delivery.js'
import type { SendingDomainCache } from '../domains/sending-domain-cache.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import type { SuppressionCache } from '../suppressions/suppression-cache.js'
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
    // Its bytes are built when its turn comes: those of other mail have the memory.
    offer: (enqueued) => runner.offer(enqueued, Buffer.alloc(0)),
    delivery: {
      stopBroadcast: (id) => runner.stopBroadcast(id),
      resumeBroadcast: (id, workspaceId) => runner.resumeBroadcast(id, workspaceId),
      rereadQueue: (workspaceId) => runner.markDue(workspaceId, 0),
      isYielding: () => runner.isYielding,
    },
  })
}
