/** Wires what delivery knows of the TLS policies of recipients' domains: DANE, and MTA-STS with its cache. */

import { followSetting } from '../config/follow-setting.js'
import type { ReadSettings } from '../config/live-config.js'
import { createPolicyFetcher } from '../delivery/transport-security/fetch-sts-policy.js'
import { createDestinationSecurer, type SecureDestination } from '../delivery/transport-security/secure-destination.js'
import { type OnTlsResult, toPolicyFailureResult } from '../delivery/transport-security/session-result.js'
import { StsPolicies } from '../delivery/transport-security/sts-policies.js'
import { createAddressGuard } from '../platform/address-guard.js'
import type { Clock } from '../platform/clock.js'
import type { DnssecResolver, Resolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import type { Edges } from './edges.js'

/** Milliseconds that mail waits for the first policy of its domain. */
const FIRST_POLICY_WAIT = 5_000

interface TransportSecurityDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
  readonly resolver: Resolver & DnssecResolver
  readonly onTlsResult: OnTlsResult
}

interface TransportSecurity {
  readonly secure: SecureDestination
  readonly stsPolicies: StsPolicies
}

export function wireTransportSecurity(deps: TransportSecurityDeps): TransportSecurity {
  const { settings, clock, log, edges, database, resolver, onTlsResult } = deps
  const guardNow = followSetting(() => settings().outbound.allowed_private_networks, createAddressGuard)
  const fetchPolicy = createPolicyFetcher({
    resolveAddresses: resolver.resolveAddresses,
    mayDial: (address) => guardNow()(address),
    port: edges.policyPort,
    authorities: edges.authorities,
  })
  const stsPolicies = new StsPolicies({
    ...{ read: database.read, commit: database.commit, clock, log },
    judgeRecords: resolver.judgeRecords,
    fetchPolicy,
    maxWait: FIRST_POLICY_WAIT,
    onFetchFailure: (domain, failure) => onTlsResult(toPolicyFailureResult(domain, failure, clock())),
  })
  const secure = createDestinationSecurer({ resolver, stsPolicies, settings: () => settings().outbound })
  return { secure, stsPolicies }
}
