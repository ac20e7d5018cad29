/** Receipts for messages that are not known yet, in memory: each is tried again a few times, within a minute. */
import type { Log } from '../platform/log.js'
import type { Receipt } from './provider.js'

/** Milliseconds between the tries. */
const DELAYS = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 28_250] as const
const MAX_WAITING = 10_000

export class WaitingReceipts {
  private readonly timers = new Set<NodeJS.Timeout>()
  private isStopped = false

  constructor(
    private readonly log: Pick<Log, 'info' | 'warn'>,
    /** Resolves to whether the receipt need not be tried again. May reject. */
    private readonly tryReceipt: (receipt: Receipt) => Promise<boolean>,
  ) {}

  add(receipt: Receipt): void {
    if (this.timers.size >= MAX_WAITING) this.drop(receipt, `${MAX_WAITING} receipts wait already`)
    else this.schedule(receipt, 0)
  }

  stop(): void {
    this.isStopped = true
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
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
      void this.tryAgain(receipt, tries + 1)
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

  private drop({ provider, messageId, smsId, state }: Receipt, why: string): void {
    const about = smsId === null ? { message_id: messageId } : { sms_id: smsId }
    this.log.info({ provider, ...about, state, why }, 'a receipt was dropped')
  }
}
