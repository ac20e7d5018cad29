/** Builds the routes of domains and of their forwarding rules. */

import type { StartSettings } from '../../base/config/live-config.js'
import type { Database } from '../../base/storage/db/database.js'
import type { DeletedDomain } from '../../records/messages/queue/fail-domain.js'
import { type DomainRef, domainRoutes } from '../../servers/api/domains/domains.js'
import { type ForwardRouteDeps, forwardRoutes } from '../../servers/api/domains/forwards.js'
import type { Route } from '../../servers/api/http/route.js'
import type { RotationDeps } from '../../workspaces/domains/rotate-keys.js'
import { createCheckLimiter } from '../../workspaces/domains/verify-domain.js'

export interface DomainRouteDeps {
  readonly config: StartSettings
  readonly database: Database
  readonly rotationDeps: RotationDeps
  readonly onDomainChanged: (domain: DomainRef) => void
  readonly onDomainDeleted: (domain: DeletedDomain) => void
  /** The mails that ask the addresses of forwarding rules. */
  readonly requestForwards: Pick<ForwardRouteDeps, 'buildRequests' | 'offer'>
}

export function buildDomainRoutes({
  config,
  database: { read, commit },
  rotationDeps,
  requestForwards,
  onDomainChanged,
  onDomainDeleted,
}: DomainRouteDeps): readonly Route[] {
  return [
    ...forwardRoutes({ read, commit, onDomainChanged, ...requestForwards }),
    ...domainRoutes({
      ...rotationDeps,
      onDomainChanged,
      onDomainDeleted,
      names: config.service,
      countLookup: createCheckLimiter(),
    }),
  ]
}
