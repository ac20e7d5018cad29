/**
 * Writes and recognizes the text of `waits_for` of an entry that waits while its source address or domain has sent what
 * it may today.
 */
import { nameProviderGroup, OTHER } from '../../../base/mail/mailbox-providers.js'

interface WarmUpWait {
  /** A source address or a domain. */
  readonly subject: string
  /** One of `providerGroups`. */
  readonly provider: string
  readonly sent: number
  readonly cap: number
}

const MARK = ' is warming up at '

export function describeWarmUp({ subject, provider, sent, cap }: WarmUpWait): string {
  const name = provider === OTHER ? 'other providers' : nameProviderGroup(provider)
  return `${subject}${MARK}${name}: ${sent} of ${cap} today`
}

/** Did `describeWarmUp` write this text? */
export function isWarmUpWait(waitsFor: string): boolean {
  return waitsFor.includes(MARK)
}
