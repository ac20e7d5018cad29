/** Writes and recognizes the text of `waits_for` of an entry that waits while its provider has asked for a pause. */
import { nameProviderGroup, providerGroups } from '../../../base/mail/mailbox-providers.js'

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

/** What an entry waits for, as the end of a line. */
export function describeWait(waitsFor: string): string {
  return isProviderPause(waitsFor) ? `waits: ${waitsFor}` : `waits for ${waitsFor}`
}

/** Did `describePause` write this text? */
export function isProviderPause(waitsFor: string): boolean {
  return / (blocks our address|asked us to slow down): [45]\d\d\b/.test(waitsFor)
}
