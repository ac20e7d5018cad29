/** All targets, in the order of the table in docs/fuzzing.md. */
import type { FuzzTarget } from '../target.js'
import { addressTargets } from './address-targets.js'
import { authenticationTargets } from './authentication-targets.js'
import { contentTargets } from './content-targets.js'
import { dataTargets } from './data-targets.js'
import { dnsTargets } from './dns-targets.js'
import { headerTargets } from './header-targets.js'
import { httpTargets } from './http-targets.js'
import { mimeTargets } from './mime-targets.js'
import { reportTargets } from './report-targets.js'
import { sessionTargets } from './session-targets.js'
import { smsTargets } from './sms-targets.js'

const allTargets: readonly FuzzTarget[] = [
  ...addressTargets,
  ...headerTargets,
  ...mimeTargets,
  ...contentTargets,
  ...reportTargets,
  ...authenticationTargets,
  ...dnsTargets,
  ...sessionTargets,
  ...httpTargets,
  ...dataTargets,
  ...smsTargets,
]

/** Those with one of these names; all without names. */
export function findTargets(names: readonly string[] = []): readonly FuzzTarget[] {
  return allTargets.filter(({ name }) => names.length === 0 || names.includes(name))
}
