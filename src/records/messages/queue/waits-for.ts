/**
 * Writes and recognizes the texts of `waits_for`, which say what an entry waits for besides its time: a provider that
 * has asked for a pause, or a warm-up.
 */
import { nameProviderGroup, OTHER, providerGroups } from '../../../base/mail/mailbox-providers.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { QueueEntry } from './queue.js'

interface ProviderPause {
  /** The id of a known provider, or a name of hosts. */
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

/** Tells whether `describePause` wrote this text. */
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

/** Tells whether `describeWarmUp` wrote this text. */
export function isWarmUpWait(waitsFor: string): boolean {
  return waitsFor.includes(WARM_UP)
}

const PAUSED = 'its broadcast, which is paused'

type Waiting = Pick<QueueEntry, 'leased' | 'held' | 'waits_for'>

/** Returns a host that is down, a pause, a hold rule, or the entry's broadcast. Null if the entry waits for nothing. */
export function waitsForOf({ leased, held, waits_for }: Waiting): string | null {
  if (leased === 1) return null
  return held === HOLD.byBroadcast ? PAUSED : waits_for
}

/** Returns the same as the end of a line. */
export function describeWait(entry: Waiting): string | null {
  const waitsFor = waitsForOf(entry)
  if (waitsFor !== null && entry.held === HOLD.byRule) return `held by ${waitsFor}`
  if (waitsFor === null || isWarmUpWait(waitsFor)) return waitsFor
  return isProviderPause(waitsFor) ? `waits: ${waitsFor}` : `waits for ${waitsFor}`
}
