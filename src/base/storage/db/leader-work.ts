/**
 * Runs the services that one node runs for all while this node leads: it starts them when the node begins to lead, and
 * stops them when it ceases. On SQLite the node leads from the start to the end.
 */
import type { Log } from '../../platform/log.js'
import { createSerialRunner } from '../../platform/serial-runner.js'
import type { NodeState } from './node-state.js'

export interface LeaderService {
  /** Takes up all work that is left, also that of other nodes. It may be called again after `stop`. */
  readonly start: () => void | Promise<void>
  /** Resolves when nothing is under way. */
  readonly stop: () => Promise<void>
}

/** Milliseconds until services that could not be started are started again. */
const RETRY_DELAY = 1_000

export class LeaderWork {
  private readonly started: LeaderService[] = []
  private readonly inTurn = createSerialRunner()
  private retryTimer: NodeJS.Timeout | null = null
  private isStopped = false

  constructor(
    private readonly node: Pick<NodeState, 'leads' | 'onChange'>,
    private readonly log: Pick<Log, 'error'>,
    private readonly services: readonly LeaderService[],
  ) {}

  /** Resolves when the services are started, if this node leads. Rejects if one of them cannot be started. */
  async start(): Promise<void> {
    await this.inTurn(() => this.follow())
    this.node.onChange(() => void this.tryFollow())
  }

  async stop(): Promise<void> {
    this.isStopped = true
    if (this.retryTimer !== null) clearTimeout(this.retryTimer)
    await this.inTurn(() => this.stopAll())
  }

  private async tryFollow(): Promise<void> {
    try {
      await this.inTurn(() => this.follow())
    } catch (err) {
      this.log.error({ err }, 'work that one node does for all cannot begin now')
      if (this.isStopped || this.retryTimer !== null) return
      this.retryTimer = setTimeout(() => {
        this.retryTimer = null
        void this.tryFollow()
      }, RETRY_DELAY).unref()
    }
  }

  private async follow(): Promise<void> {
    if (this.isStopped) return
    if (!this.node.leads()) return this.stopAll()
    for (const service of this.services.slice(this.started.length)) {
      await service.start()
      this.started.push(service)
    }
  }

  /** They end in reverse order. */
  private async stopAll(): Promise<void> {
    for (let last = this.started.pop(); last !== undefined; last = this.started.pop()) await last.stop()
  }
}
