/**
 * Limits how many reports one mailbox gets in a day: the owner of many domains may name any mailbox in their records,
 * and mail to those domains would otherwise cause as much mail to it. The counts are in memory, and a restart clears
 * them.
 */
import { type Address, toLowerCaseAddress } from '../../../base/mail/address.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { dateOf } from './report-day.js'

/** The limit allows for large mail hosts, which name one mailbox for many domains. */
export const MAX_REPORTS_TO_MAILBOX = 200
const MAX_MAILBOXES = 20_000

export class MailboxLimit {
  private readonly counts = createLruCache<number>({ max: MAX_MAILBOXES })

  /** Counts a report to the mailbox. Returns false if it has had as many as it may. */
  take(mailbox: Address, now: number): boolean {
    const key = `${dateOf(now)} ${toLowerCaseAddress(mailbox)}`
    const count = this.counts.get(key) ?? 0
    if (count >= MAX_REPORTS_TO_MAILBOX) return false
    this.counts.set(key, count + 1)
    return true
  }
}
