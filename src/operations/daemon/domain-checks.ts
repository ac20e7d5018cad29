/** Wires the checks of sending domains: their DNS resolver, key rotation, and the periodic recheck. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { buildRotationDeps, openDomainResolver } from '../../workspaces/domains/domain-resolver.js'
import type { RecheckDeps } from '../../workspaces/domains/recheck-domains.js'
import { RecheckRunner } from '../../workspaces/domains/recheck-runner.js'
import type { RotationDeps } from '../../workspaces/domains/rotate-keys.js'
import type { Edges } from './edges.js'

interface DomainCheckDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly onDomainChanged: RecheckDeps['onChanged']
}

export interface DomainChecks extends Pick<RecheckRunner, 'start' | 'wake' | 'stop'> {
  /** Dependencies of the checks that a request asks for. */
  readonly rotationDeps: RotationDeps
}

export function wireDomainChecks({
  config,
  settings,
  clock,
  log,
  edges,
  database,
  onDomainChanged,
}: DomainCheckDeps): DomainChecks {
  const abortController = new AbortController()
  const resolver = edges.resolver ?? openDomainResolver(config, clock, abortController.signal)
  const rotationDeps = buildRotationDeps(config, () => settings().outbound.expire_after, {
    ...database,
    resolver,
    random: edges.random,
  })
  const runner = new RecheckRunner({ ...rotationDeps, clock, log, onChanged: onDomainChanged })
  return {
    rotationDeps,
    start: () => runner.start(),
    wake: () => runner.wake(),
    stop: () => {
      abortController.abort()
      return runner.stop()
    },
  }
}
