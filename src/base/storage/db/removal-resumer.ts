/**
 * Resumes, while this node leads, the removals that have been left: by a stop of this node, or by another node that has
 * ended or failed. It looks each minute, because a node may fail and be back before another one takes note of it.
 *
 * A removal that another node is still at work on is then made twice, which changes nothing.
 */
import type { Log } from '../../platform/log.js'
import type { LeaderService } from './leader-work.js'

interface ResumerDeps {
  /** See `RemovalRunner.resume`. */
  readonly resume: () => Promise<void>
  readonly log: Pick<Log, 'error'>
  /** Milliseconds between two looks. */
  readonly interval?: number
}

const INTERVAL = 60_000

export class RemovalResumer implements LeaderService {
  private timer: NodeJS.Timeout | null = null
  private looking: Promise<void> = Promise.resolve()

  constructor(private readonly deps: ResumerDeps) {}

  async start(): Promise<void> {
    await this.deps.resume()
    this.timer = setInterval(() => this.look(), this.deps.interval ?? INTERVAL).unref()
  }

  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer)
    await this.looking
  }

  private look(): void {
    const { resume, log } = this.deps
    this.looking = this.looking
      .then(resume)
      .catch((err: unknown) => log.error({ err }, 'removals that are left cannot be found now'))
  }
}
