/**
 * The texts of `waits_for`: what an entry waits for besides its time. Writes those of a provider that has asked for a pause
 * and of a warm-up, and recognizes them.
 */
import { nameProviderGroup, OTHER, providerGroups } from '../../../base/mail/mailbox-providers.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { QueueEntry } from './queue.js'

interface ProviderPause {
  /** An id of the known providers, or a name of hosts. */
  readonly provider: string
  readonly kind: 'rate' | 'block'
  readonly reply: string
}

export function describePause({ provider, kind, reply }: ProviderPause): string {
  const what = kind === 'block' ? 'blocks our address' : 'asked us to slow down'
  return `${nameProvider(provider)} ${what}: ${reply}`
}

export function nameProvider(provider: string): string {
  return providerGroups.includes(provider) ? nameProviderGroup(provider) : provider
}

/** Did `describePause` write this text? */
export function isProviderPause(waitsFor: string): boolean {
  return / (blocks our address|asked us to slow down): [45]\d\d\b/.test(waitsFor)
}

interface WarmUpWait {
  /** A source address or a domain. */
  readonly subject: string
  /** One of `providerGroups`. */
  readonly provider: string
  readonly sent: number
  readonly cap: number
}

const WARM_UP = ' is warming up at '

export function describeWarmUp({ subject, provider, sent, cap }: WarmUpWait): string {
  const name = provider === OTHER ? 'other providers' : nameProviderGroup(provider)
  return `${subject}${WARM_UP}${name}: ${sent} of ${cap} today`
}

/** Did `describeWarmUp` write this text? */
export function isWarmUpWait(waitsFor: string): boolean {
  return waitsFor.includes(WARM_UP)
}

const PAUSED = 'its broadcast, which is paused'

type Waiting = Pick<QueueEntry, 'leased' | 'held' | 'waits_for'>

/** A host that is down, a pause, a hold rule, or its broadcast; null: nothing. */
export function waitsForOf({ leased, held, waits_for }: Waiting): string | null {
  if (leased === 1) return null
  return held === HOLD.byBroadcast ? PAUSED : waits_for
}

/** The same as the end of a line. */
export function describeWait(entry: Waiting): string | null {
  const waitsFor = waitsForOf(entry)
  if (waitsFor !== null && entry.held === HOLD.byRule) return `held by ${waitsFor}`
  if (waitsFor === null || isWarmUpWait(waitsFor)) return waitsFor
  return isProviderPause(waitsFor) ? `waits: ${waitsFor}` : `waits for ${waitsFor}`
}
