/**
 * Hands inbound messages to the threads that authenticate them. A message is authenticated on one of them: hashing 34
 * MB takes up to a tenth of a second of CPU for each way of hashing, and a header of 2 MB takes a second. A small one
 * is also taken apart there, so that its bytes cross once; a larger one is taken apart in a process (`messages/mime/mime-parts`).
 *
 * A thread is started when the others have work, and gets messages once its code is loaded, which takes longer than some of
 * them; only the first one has messages that wait for that. Few messages with large headers are checked at a time, because
 * mailauth makes many objects of each field.
 */
import { availableParallelism } from 'node:os'
import type { Connection } from '../../../base/mail/authentication-results.js'
import type { Header } from '../../../base/mail/header-fields.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { Semaphore } from '../../../base/platform/semaphore.js'
import type { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import type { TraceFacts } from '../authentication/trace-fields.js'
import { type CheckedMessage, MessageThread, type MessageThreadDeps } from './message-thread.js'

/** A header of this size in octets, or more, is large. `maxWait` is in milliseconds. */
const LARGE_HEADER = 131_072
const LARGE_HEADER_LIMITS = { slots: 4, maxWaiting: 100, maxWait: 60_000 }
/** Messages that each thread works on before another one is started. */
const FULL_LOAD = 3
/** Messages in hand of each thread. They are some milliseconds of work. */
const BUSY_LOAD = 3

/** One core is left to the main thread. On two cores the main thread takes less than half of one, so there are two threads. */
export function countThreads(cores: number): number {
  return cores === 2 ? 2 : Math.min(4, Math.max(1, cores - 1))
}

export class MessageThreads {
  private readonly threads: readonly MessageThread[]
  private readonly largeHeaders = new Semaphore(LARGE_HEADER_LIMITS.slots, LARGE_HEADER_LIMITS.maxWaiting)
  private isStopped = false
  /** Milliseconds in which each thread was busy, since its start. 0 until it is started. */
  readonly busyTimes: readonly (() => number)[]

  constructor(deps: MessageThreadDeps, maxThreads = countThreads(availableParallelism())) {
    this.threads = Array.from({ length: maxThreads }, () => new MessageThread(deps))
    this.busyTimes = this.threads.map((thread) => () => thread.readBusyTime())
  }

  /**
   * Rejects with a `Refusal` if the message cannot be checked. Nothing else may read the bytes until it settles.
   * `header` is their header. `trace` asks for the stored form of a message; a large one gets none.
   */
  async authenticate(
    bytes: MessageBytes,
    header: Header,
    connection: Connection,
    trace: TraceFacts | null,
  ): Promise<CheckedMessage> {
    if (header.end < LARGE_HEADER) return this.findThread().check(bytes, connection, trace)
    const admitted = await this.largeHeaders.acquire(LARGE_HEADER_LIMITS.maxWait)
    if (!admitted) throw new Refusal('unavailable', 'too many messages with large headers, try again later')
    try {
      return await this.findThread().check(bytes, connection, trace)
    } finally {
      this.largeHeaders.release()
    }
  }

  /** Loads the code of the first thread; otherwise the first message would wait for it. `limit` is in milliseconds. */
  async loadCode(limit: number): Promise<void> {
    await this.threads[0]?.loadCode(limit)
  }

  /**
   * The threads have messages in hand for as long as a commit takes, with the answers to it and the messages that
   * follow.
   */
  isBusy(): boolean {
    let load = 0
    let ready = 0
    for (const thread of this.threads) {
      load += thread.load
      if (thread.isReady) ready += 1
    }
    return load >= BUSY_LOAD * Math.max(1, ready)
  }

  async stop(): Promise<void> {
    this.isStopped = true
    this.largeHeaders.close()
    await Promise.all(this.threads.map((thread) => thread.stop()))
  }

  /** The one with the least work, of those that are ready; without one, the first. */
  private findThread(): MessageThread {
    if (this.isStopped) throw new Error('the threads for inbound mail are stopped')
    let ready: MessageThread | null = null
    let unready: MessageThread | null = null
    for (const thread of this.threads) {
      if (!thread.isReady) unready ??= thread
      else if (ready === null || thread.load < ready.load) ready = thread
    }
    if (ready !== null && ready.load >= FULL_LOAD) unready?.startAhead()
    const found = ready ?? unready
    if (found === null) throw new Error('there are no threads for inbound mail')
    return found
  }
}
