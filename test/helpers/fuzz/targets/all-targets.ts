/**
 * All targets, in the order of the table in docs/fuzzing.md.
 *
 * A group is a module that is loaded alone by the thread that fuzzes one of its targets: V8 takes longer to read
 * coverage the more code is loaded.
 */
import type { FuzzTarget } from '../target.js'

const groups: readonly (() => Promise<readonly FuzzTarget[]>)[] = [
  async () => (await import('./address-targets.js')).addressTargets,
  async () => (await import('./header-targets.js')).headerTargets,
  async () => (await import('./mime-targets.js')).mimeTargets,
  async () => (await import('./content-targets.js')).contentTargets,
  async () => (await import('./report-targets.js')).reportTargets,
  async () => (await import('./domain-report-targets.js')).domainReportTargets,
  async () => (await import('./authentication-targets.js')).authenticationTargets,
  async () => (await import('./dns-targets.js')).dnsTargets,
  async () => (await import('./session-targets.js')).sessionTargets,
  async () => (await import('./http-targets.js')).httpTargets,
  async () => (await import('./data-targets.js')).dataTargets,
  async () => (await import('./storage-targets.js')).storageTargets,
  async () => (await import('./sms-targets.js')).smsTargets,
  async () => (await import('./transport-security-targets.js')).transportSecurityTargets,
  async () => (await import('./tls-report-targets.js')).tlsReportTargets,
  async () => (await import('./forward-targets.js')).forwardTargets,
]

interface GroupedTarget {
  readonly target: FuzzTarget
  readonly group: number
}

export async function loadTargets(): Promise<readonly GroupedTarget[]> {
  const loaded = await Promise.all(groups.map((load) => load()))
  return loaded.flatMap((targets, group) => targets.map((target) => ({ target, group })))
}

export async function loadTarget(group: number, name: string): Promise<FuzzTarget> {
  const target = (await groups[group]?.())?.find((one) => one.name === name)
  if (target === undefined) throw new Error(`no target ${name}`)
  return target
}
