/**
 * Rechecks sending domains in DNS. It checks each minute those that are due, and at once when a command may have
 * changed something.
 *
 * The domain's row has the time of its next check, so a daemon that was stopped catches up.
 */
import { type RecheckDeps, recheckDomains } from './recheck-domains.js'

const CHECK_INTERVAL = 60_000

export class RecheckRunner {
  private readonly abortController = new AbortController()
  private running: Promise<void> | null = null
  private again = false
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly deps: RecheckDeps) {}

  /** Checks what is due now and then each minute. */
  start(): void {
    // The timer follows the monotonic clock, so a step of the wall clock neither misses a check nor delays one.
    this.timer ??= setInterval(() => this.wake(), CHECK_INTERVAL).unref()
    this.wake()
  }

  /** Checks what is due now. */
  wake(): void {
    this.again = true
    if (!this.abortController.signal.aborted) this.running ??= this.recheckUntilDone()
  }

  async stop(): Promise<void> {
    this.abortController.abort()
    if (this.timer !== null) clearInterval(this.timer)
    await this.running
  }

  private async recheckUntilDone(): Promise<void> {
    const { signal } = this.abortController
    do {
      this.again = false
      try {
        await recheckDomains(this.deps, signal)
      } catch (err) {
        this.deps.log.error({ err }, 'sending domains cannot be checked')
      }
    } while (this.again && !signal.aborted)
    this.running = null
  }
}
