/** Wires broadcasts to delivery, limits and caches. */

import type { StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { BroadcastEngine } from '../../outbound/broadcasts/broadcast-engine.js'
import { ContactMessages } from '../../outbound/broadcasts/contact-message.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import type { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import type { WorkspaceLimits } from '../../workspaces/accounts/limits/workspace-limits.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'

interface BroadcastsDeps {
  readonly config: StartSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly identity: ServiceIdentity
  readonly suppressions: SuppressionCache
  readonly domains: SendingDomainCache
  readonly limits: WorkspaceLimits
  readonly delivery: Delivery
}

export function wireBroadcasts(deps: BroadcastsDeps): BroadcastEngine {
  const { config, clock, log, database, identity, suppressions, domains, limits, delivery } = deps
  const { read, commit, node } = database
  const messages = new ContactMessages(identity.returnPathSecret, config.service.public_url)
  const { runner } = delivery
  const { charger } = limits
  return new BroadcastEngine({
    read,
    commit,
    clock,
    log,
    charger,
    suppressions,
    domains,
    messages,
    runner,
    leads: node.leads,
  })
}
