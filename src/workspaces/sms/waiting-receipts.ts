/**
 * Receipts for messages that we do not know yet, in memory. Each is tried again a few times within a minute.
 *
 * Limit: 10,000. While that many wait, we drop those that come. The log has one line when that begins, and one with
 * their number when half of the waiting ones are gone, so that a flood does not fill the log.
 */
import type { Log } from '../../base/platform/log.js'
import type { Receipt } from './provider.js'

/** Milliseconds between the tries. */
const DELAYS = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 28_250] as const
const MAX_WAITING = 10_000

export class WaitingReceipts {
  private readonly timers = new Set<NodeJS.Timeout>()
  private readonly underWay = new Set<Promise<void>>()
  private isStopped = false
  /** Receipts that we dropped because there was no room. */
  private surplus = 0

  constructor(
    private readonly log: Pick<Log, 'info' | 'warn'>,
    /** Resolves to true if the receipt need not be tried again. May reject. */
    private readonly tryReceipt: (receipt: Receipt) => Promise<boolean>,
  ) {}

  add(receipt: Receipt): void {
    if (this.timers.size < MAX_WAITING) this.schedule(receipt, 0)
    else this.dropSurplus(receipt)
  }

  /** Resolves when the tries under way have ended. */
  async stop(): Promise<void> {
    this.isStopped = true
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
    await Promise.all(this.underWay)
  }

  private schedule(receipt: Receipt, tries: number): void {
    const delay = DELAYS[tries]
    if (this.isStopped) return
    if (delay === undefined) {
      this.drop(receipt, 'no message with this id was sent')
      return
    }
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.endSurplus()
      const trying = this.tryAgain(receipt, tries + 1).finally(() => this.underWay.delete(trying))
      this.underWay.add(trying)
    }, delay)
    this.timers.add(timer)
  }

  private async tryAgain(receipt: Receipt, tries: number): Promise<void> {
    try {
      if (await this.tryReceipt(receipt)) return
    } catch (err) {
      this.log.warn({ err }, 'a receipt cannot be applied now')
    }
    this.schedule(receipt, tries)
  }

  private dropSurplus({ provider }: Receipt): void {
    this.surplus += 1
    if (this.surplus > 1) return
    this.log.warn({ provider, waiting: MAX_WAITING }, 'too many receipts wait: others are dropped')
  }

  private endSurplus(): void {
    if (this.surplus === 0 || this.timers.size > MAX_WAITING / 2) return
    this.log.warn({ dropped: this.surplus }, 'receipts can wait again')
    this.surplus = 0
  }

  private drop({ provider, messageIds, smsId, state }: Receipt, why: string): void {
    const about = smsId === null ? { message_id: messageIds[0] } : { sms_id: smsId }
    this.log.info({ provider, ...about, state, why }, 'a receipt was dropped')
  }
}
