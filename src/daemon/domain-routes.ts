/** Builds the routes of domains and of their forwarding rules. */
import { type DomainRef, domainRoutes } from '../api/domains/domains.js'
import { type ForwardRouteDeps, forwardRoutes } from '../api/domains/forwards.js'
import type { Route } from '../api/http/route.js'
import type { StartSettings } from '../config/live-config.js'
import type { RotationDeps } from '../domains/dkim/rotate-keys.js'
import { createCheckLimiter } from '../domains/verification/verify-domain.js'
import type { DeletedDomain } from '../messages/queue/fail-domain.js'
import type { Database } from '../storage/database.js'

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
