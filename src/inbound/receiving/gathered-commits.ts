/**
 * Lets messages that are accepted one after the other share a commit, which costs nearly as much for one as for ten: it
 * rewrites the last page of each index and waits for the disk.
 *
 * A commit waits for the next ones only while the threads for inbound mail have messages in hand: then these are what all
 * messages wait for, and the time that a commit does not take is theirs. A message that comes alone never waits.
 */
import type { Commit, Write } from '../../base/storage/db/write.js'
import type { MessageThreads } from './threads/message-threads.js'

/** Milliseconds. */
const MAX_WAIT = 4
/** Commits that wait together. */
const MAX_HELD = 32

interface GatheringDeps {
  readonly commit: Commit
  /** The threads are busy if they have messages in hand for longer than a commit takes. */
  readonly threads: Pick<MessageThreads, 'isBusy'>
}

export class GatheredCommits {
  private held: (() => void)[] = []
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly deps: GatheringDeps) {}

  commit(writes: readonly Write[]): Promise<void> {
    const { commit, threads } = this.deps
    if (this.held.length === MAX_HELD || !threads.isBusy()) {
      this.release()
      return commit(writes)
    }
    return new Promise((resolve, reject) => {
      this.held.push(() => commit(writes).then(resolve, reject))
      this.timer ??= setTimeout(() => this.release(), MAX_WAIT)
    })
  }

  private release(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const released = this.held
    this.held = []
    for (const begin of released) begin()
  }
}
