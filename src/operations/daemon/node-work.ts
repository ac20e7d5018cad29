/**
 * Follows the part of this daemon among the nodes on the database: it takes up rows that have become its own, and when
 * the node drains it lets attempts end, so that others may take over what it has.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../base/platform/log.js'
import type { NodeState } from '../../base/storage/db/node-state.js'
import type { Receiving } from '../../inbound/receiving/receiving.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'

/** Milliseconds between looks whether the last attempt has ended. */
const LOOK_INTERVAL = 50
/** Milliseconds until a write that failed is made again. */
const RETRY_PAUSE = 1_000

interface NodeWorkDeps {
  readonly node: NodeState
  readonly delivery: Pick<Delivery, 'lookAgain' | 'runner'>
  readonly receiving: Pick<Receiving, 'resume'>
  readonly log: Pick<Log, 'info' | 'error'>
}

export class NodeWork {
  private readonly end = new AbortController()
  private draining: Promise<void> | null = null

  constructor(private readonly deps: NodeWorkDeps) {}

  start(): void {
    this.deps.node.onChange(() => this.follow())
  }

  async stop(): Promise<void> {
    this.end.abort()
    await this.draining
  }

  private follow(): void {
    if (this.end.signal.aborted) return
    const { node, delivery, receiving } = this.deps
    if (node.state() !== 'working') {
      this.draining ??= this.drain()
      return
    }
    delivery.lookAgain()
    receiving.resume()
  }

  private async drain(): Promise<void> {
    const { node, delivery, log } = this.deps
    const { runner } = delivery
    log.info({ node: node.name, attempts: runner.activeCount }, 'the node drains: others take over what it has')
    await runner.halt().catch((err: unknown) => log.error({ err }, 'the node cannot be drained now'))
    while (runner.countTurns() > 0) {
      if (this.end.signal.aborted) return
      await pause(LOOK_INTERVAL)
    }
    while (!this.end.signal.aborted) {
      try {
        await node.noteDrained()
        log.info({ node: node.name }, 'the node is drained, and may be stopped')
        return
      } catch (err) {
        log.error({ err }, 'the node cannot be drained now')
        await pause(RETRY_PAUSE)
      }
    }
  }
}
