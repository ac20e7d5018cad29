/**
 * One SMTP connection as lines out and replies in.
 *
 * Replies that came before the end stay readable after it: a server's `421` must not be
 * lost to the close that follows. A failure ends the wire for good. Replies that nobody
 * asked for are kept, so that callers can see that both sides no longer agree: reading one
 * as the answer to the next message would report a delivery that never was.
 */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Failure } from '../../messages/replies/classify-reply.js'
import { DialError, type Dialer, toDialError } from '../../platform/dialer.js'
import { ReplyParser, type ServerReply } from './reply-parser.js'
import type { Transcript } from './transcript.js'

/** More than any pipelined transaction can leave unread. */
const MAX_UNREAD_REPLIES = 16

/** The connection is over. `detail` ends a sentence: `connection closed`. */
export interface ConnectionFailure {
  readonly failure: Failure
  readonly detail: string
}

export type ReplyResult =
  | { readonly kind: 'reply'; readonly serverReply: ServerReply }
  | { readonly kind: 'failed'; readonly why: ConnectionFailure }

interface Waiter<T> {
  readonly timer: NodeJS.Timeout
  readonly resolve: (value: T) => void
}

export class SmtpConnection {
  private socket: Socket
  private parser = new ReplyParser()
  private readonly replies: ServerReply[] = []
  private endCause: ConnectionFailure | null = null
  private replyWaiter: Waiter<ReplyResult> | null = null
  private drainWaiter: Waiter<ConnectionFailure | null> | null = null
  private watcher: (() => void) | null = null
  private tlsProtocol: string | null = null
  /** Takes our listeners off the socket. */
  private removeListeners: () => void

  constructor(
    socket: Socket,
    readonly transcript: Transcript,
  ) {
    this.socket = socket
    this.removeListeners = this.addListeners(socket)
  }

  /** As `TLSv1.3`; null: plain text. */
  get tls(): string | null {
    return this.tlsProtocol
  }

  get failure(): ConnectionFailure | null {
    return this.endCause
  }

  /** Something has arrived that nobody has read. */
  get hasUnread(): boolean {
    return this.replies.length > 0 || this.parser.isMidway
  }

  /** Bytes that neither the peer nor the kernel has taken yet. */
  get backlog(): number {
    return this.socket.writableLength
  }

  /** Lines without their ends, in one write. */
  writeLines(lines: readonly string[]): void {
    if (this.endCause === null) this.socket.write(`${lines.join('\r\n')}\r\n`)
  }

  /** What is written by `work` leaves in one piece, as far as the kernel takes it. */
  batchWrites(work: () => void): void {
    this.socket.cork()
    work()
    this.socket.uncork()
  }

  write(bytes: Buffer): void {
    if (this.endCause === null) this.socket.write(bytes)
  }

  nextReply(timeout: number): Promise<ReplyResult> {
    const serverReply = this.replies.shift()
    if (serverReply !== undefined) return Promise.resolve({ kind: 'reply', serverReply })
    if (this.endCause !== null) return Promise.resolve({ kind: 'failed', why: this.endCause })
    return new Promise((resolve) => {
      this.replyWaiter = { resolve, timer: this.startDeadline(timeout) }
    })
  }

  /** Resolves when the backlog is taken, or something arrives, or the wire has failed. */
  waitForDrain(timeout: number): Promise<ConnectionFailure | null> {
    if (this.endCause !== null || !this.socket.writableNeedDrain) return Promise.resolve(this.endCause)
    return new Promise((resolve) => {
      this.drainWaiter = { resolve, timer: this.startDeadline(timeout) }
    })
  }

  /** Calls `watcher` once, when an idle connection ends or speaks up; null: no longer. */
  watch(watcher: (() => void) | null): void {
    this.watcher = watcher
  }

  /** Speaks TLS from here on. What the peer said in plain text before counts no more. */
  async upgradeToTls(dialer: Dialer, options: Parameters<Dialer['upgrade']>[1]): Promise<ConnectionFailure | null> {
    this.removeListeners()
    try {
      const socket = await dialer.upgrade(this.socket, options)
      this.socket = socket
      this.parser = new ReplyParser()
      this.tlsProtocol = socket instanceof TLSSocket ? socket.getProtocol() : null
      this.transcript.logEvent(`encrypted, ${this.tlsProtocol ?? 'unknown'}`)
      this.removeListeners = this.addListeners(socket)
    } catch (error) {
      this.fail(toConnectionFailure(error))
    }
    return this.endCause
  }

  /** Ends the connection at once, and everything that waits for it. */
  fail(why: ConnectionFailure): void {
    if (this.endCause !== null) return
    this.endCause = why
    this.transcript.logEvent(why.detail)
    this.socket.destroy()
    resolveWaiter(this.replyWaiter, { kind: 'failed', why })
    resolveWaiter(this.drainWaiter, why)
    this.replyWaiter = this.drainWaiter = null
    this.notifyWatcher()
  }

  private addListeners(socket: Socket): () => void {
    const data = (chunk: Buffer): void => this.onData(chunk)
    const drain = (): void => this.onDrain()
    const error = (cause: Error): void => this.fail(toConnectionFailure(toDialError(cause, 'reset')))
    const close = (): void => this.fail({ failure: 'closed', detail: 'connection closed' })
    socket.on('data', data).on('drain', drain).on('error', error).on('end', close).on('close', close)
    return () => {
      socket.off('data', data).off('drain', drain).off('error', error).off('end', close).off('close', close)
    }
  }

  private onData(chunk: Buffer): void {
    for (const parsed of this.parser.feed(chunk)) {
      if (parsed.kind === 'nonsense') this.fail({ failure: 'protocol', detail: parsed.why })
      else this.deliverReply(parsed)
    }
    if (!this.hasUnread) return
    this.onDrain()
    this.notifyWatcher()
  }

  private deliverReply(serverReply: ServerReply): void {
    const reader = this.replyWaiter
    this.replyWaiter = null
    if (reader !== null) resolveWaiter(reader, { kind: 'reply', serverReply })
    else if (this.replies.push(serverReply) > MAX_UNREAD_REPLIES) {
      this.fail({ failure: 'protocol', detail: 'replies that nobody asked for' })
    }
  }

  private onDrain(): void {
    resolveWaiter(this.drainWaiter, null)
    this.drainWaiter = null
  }

  private notifyWatcher(): void {
    const watcher = this.watcher
    this.watcher = null
    watcher?.()
  }

  private startDeadline(timeout: number): NodeJS.Timeout {
    return setTimeout(() => this.fail({ failure: 'timeout', detail: `no answer within ${timeout / 1000} s` }), timeout)
  }
}

function resolveWaiter<T>(waiting: Waiter<T> | null, value: T): void {
  if (waiting === null) return
  clearTimeout(waiting.timer)
  waiting.resolve(value)
}

/** Of an error of the dialer. Whatever else was thrown is an abort: the end of the wire all the same. */
export function toConnectionFailure(error: unknown): ConnectionFailure {
  if (error instanceof DialError) return { failure: error.failure, detail: error.message }
  return { failure: 'closed', detail: 'given up' }
}
