/** All checks, in the order in which they are shown. */
import type { Check } from './check.js'
import { acmeChecks } from './checks/acme-checks.js'
import { addressChecks } from './checks/address-checks.js'
import { blockListChecks } from './checks/block-list-checks.js'
import { clockChecks } from './checks/clock-checks.js'
import { copyChecks } from './checks/copy-checks.js'
import { daemonChecks } from './checks/daemon-checks.js'
import { dnsChecks } from './checks/dns-checks.js'
import { dnssecChecks } from './checks/dnssec-checks.js'
import { domainChecks } from './checks/domain-checks.js'
import { hostChecks } from './checks/host-checks.js'
import { mtaStsChecks } from './checks/mta-sts-checks.js'
import { policyChecks } from './checks/policy-checks.js'
import { portChecks } from './checks/port-checks.js'
import { tlsChecks } from './checks/tls-checks.js'
import { workChecks } from './checks/work-checks.js'
import { zoneChecks } from './checks/zone-checks.js'

export const allChecks: readonly Check[] = [
  ...daemonChecks,
  ...hostChecks,
  ...clockChecks,
  ...dnsChecks,
  ...dnssecChecks,
  ...addressChecks,
  ...portChecks,
  ...blockListChecks,
  ...tlsChecks,
  ...acmeChecks,
  ...zoneChecks,
  ...policyChecks,
  ...mtaStsChecks,
  ...domainChecks,
  ...workChecks,
  ...copyChecks,
]
