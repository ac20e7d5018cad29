/** Opens delivery: its resolver, what is known of the TLS policies of domains, and the paces of providers. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import { createAddressGuard } from '../../base/platform/address-guard.js'
import type { Clock } from '../../base/platform/clock.js'
import {
  type DnssecResolver,
  defaultResolverSettings,
  openResolver,
  type Resolver,
} from '../../base/platform/dns/resolver.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import type { MailReceivers } from '../../inbound/receiving/domain-reports/mail-receivers.js'
import type { Breaker } from '../../outbound/breaker/breaker.js'
import type { OnAttempt } from '../../outbound/delivery/attempt/attempt-settler.js'
import { Delivery } from '../../outbound/delivery/delivery.js'
import { Paces } from '../../outbound/delivery/shaping/paces.js'
import type { TlsReports } from '../../outbound/delivery/tls-reports/tls-reports.js'
import { createPolicyFetcher } from '../../outbound/delivery/transport-security/fetch-sts-policy.js'
import { DestinationSecurer } from '../../outbound/delivery/transport-security/secure-destination.js'
import { type OnTlsResult, toPolicyFailureResult } from '../../outbound/delivery/transport-security/session-result.js'
import { StsPolicies } from '../../outbound/delivery/transport-security/sts-policies.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { StopSteps } from './daemon-options.js'
import type { Edges } from './edges.js'

/** Milliseconds that mail waits for the first policy of its domain. */
const FIRST_POLICY_WAIT = 5_000

interface DeliveryDeps extends Omit<ConstructorParameters<typeof Delivery>[0], OpenedHere> {
  readonly config: StartSettings
  readonly edges: Edges
  readonly database: Database
  readonly observers: Observers | null
  readonly breaker: Breaker
  readonly receivers: MailReceivers
  readonly tlsReports: TlsReports
}

type OpenedHere =
  | 'read'
  | 'commit'
  | 'node'
  | 'random'
  | 'dialer'
  | 'timeouts'
  | 'resolver'
  | 'security'
  | 'paces'
  | 'onAttempt'
  | 'onTlsResult'

/** `limit` is the number of milliseconds that attempts have to end when the daemon stops. */
export async function openDelivery(deps: DeliveryDeps, stopSteps: StopSteps, limit: number): Promise<Delivery> {
  const { config, clock, edges, database, observers, breaker, receivers } = deps
  const paces = await openPaces(deps)
  stopSteps.push(() => paces.stop())
  const onTlsResult: OnTlsResult = (result) => {
    observers?.onTlsResult(result)
    deps.tlsReports.onTlsResult(result)
  }
  const onAttempt: OnAttempt = (attempt) => {
    observers?.onAttempt(attempt)
    breaker.counts.countAttempt(attempt)
    receivers.noteAttempt(attempt)
  }
  const ended = new AbortController()
  const own = openResolver({ ...defaultResolverSettings, servers: config.dns.servers }, clock, ended.signal)
  const resolver = edges.resolver ?? own
  const security = resolver === own ? await openSecurity({ ...deps, onTlsResult }, own, stopSteps) : null
  stopSteps.push(() => ended.abort())
  const delivery = new Delivery({
    ...deps,
    ...database,
    ...edges,
    ...{ paces, resolver, security, onTlsResult, onAttempt },
  })
  stopSteps.push(() => delivery.stop(limit))
  return delivery
}

interface SecurityDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly onTlsResult: OnTlsResult
}

/** DANE, and MTA-STS with its cache. */
async function openSecurity(
  { settings, clock, log, edges, database: { read, commit }, onTlsResult }: SecurityDeps,
  resolver: Resolver & DnssecResolver,
  stopSteps: StopSteps,
): Promise<DestinationSecurer> {
  const outbound = () => settings().outbound
  const fetchPolicy = createPolicyFetcher({
    resolveAddresses: resolver.resolveAddresses,
    mayDial: (address) => createAddressGuard(outbound().allowed_private_networks)(address),
    port: edges.policyPort,
    authorities: edges.authorities,
  })
  const stsPolicies = await StsPolicies.open({
    ...{ read, commit, clock, log, fetchPolicy },
    judgeRecords: resolver.judgeRecords,
    maxWait: FIRST_POLICY_WAIT,
    onFetchFailure: (domain, failure) => onTlsResult(toPolicyFailureResult(domain, failure, clock())),
  })
  stopSteps.push(() => stsPolicies.stop())
  return new DestinationSecurer({ resolver, stsPolicies, settings: outbound })
}

interface PacesDeps {
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly observers: Observers | null
}

/** Wires the paces of providers: a steady clock, metrics, and what was learned before the last stop. */
async function openPaces({ database: { read, commit, node }, clock, log, observers }: PacesDeps): Promise<Paces> {
  const timer = {
    now: () => performance.now(),
    after: (milliseconds: number, run: () => void) => {
      const timeout = setTimeout(run, milliseconds).unref()
      return () => clearTimeout(timeout)
    },
  }
  const onRefused = observers?.onPaceRefused ?? (() => undefined)
  const paces = new Paces({ read, commit, node: node.name, clock, log, timer, onRefused })
  await paces.load()
  observers?.watchPaces(() => paces.list())
  return paces
}
