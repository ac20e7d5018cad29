/** All checks, in the order in which they are shown. */
import type { Check } from '../check.js'
import { acmeChecks } from './acme-checks.js'
import { addressChecks } from './address-checks.js'
import { blockListChecks } from './block-list-checks.js'
import { clockChecks } from './clock-checks.js'
import { copyChecks } from './copy-checks.js'
import { daemonChecks } from './daemon-checks.js'
import { dnsChecks } from './dns-checks.js'
import { dnssecChecks } from './dnssec-checks.js'
import { domainChecks } from './domain-checks.js'
import { hostChecks } from './host-checks.js'
import { mtaStsChecks } from './mta-sts-checks.js'
import { nodeChecks } from './node-checks.js'
import { policyChecks } from './policy-checks.js'
import { portChecks } from './port-checks.js'
import { tlsChecks } from './tls-checks.js'
import { trialChecks } from './trial-checks.js'
import { workChecks } from './work-checks.js'
import { zoneChecks } from './zone-checks.js'

export const allChecks: readonly Check[] = [
  ...trialChecks,
  ...daemonChecks,
  ...nodeChecks,
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
