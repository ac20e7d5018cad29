/**
 * One SMTP connection: it sends lines and receives replies.
 *
 * Replies that arrived before the connection ended can still be read: a server's `421` must not be lost because the
 * server closes right after it. A failure ends the connection permanently. Unsolicited replies are kept (`hasUnread`),
 * so that callers notice that the two sides are out of step: if one were read as the reply to the next message, it
 * would report a delivery that did not happen.
 */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { DialError, type Dialer, toDialError } from '../../../base/platform/dialer.js'
import type { Failure } from '../../../records/messages/replies/classify-reply.js'
import { ReplyParser, type ServerReply } from './reply-parser.js'
import type { Transcript } from './transcript.js'

/** More replies than a pipelined transaction can leave unread. */
const MAX_UNREAD_REPLIES = 16

/** Says why the connection ended. `detail` is the end of a sentence, such as `connection closed`. */
export interface ConnectionFailure {
  readonly failure: Failure
  readonly detail: string
}

type ReplyResult =
  | { readonly kind: 'reply'; readonly serverReply: ServerReply }
  | { readonly kind: 'failed'; readonly why: ConnectionFailure }

interface TlsJudgement {
  /** Null if the session continues. */
  readonly failure: ConnectionFailure | null
  /** What proved the server, for people. Null if nothing did. */
  readonly proof: string | null
}

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
  private removeListeners: () => void

  constructor(
    socket: Socket,
    readonly transcript: Transcript,
  ) {
    this.socket = socket
    this.removeListeners = this.addListeners(socket)
  }

  /** A text such as `TLSv1.3` or `TLSv1.3, verified by DANE`. Null for plain text. */
  get tls(): string | null {
    return this.tlsProtocol
  }

  /** Null if the connection has ended. */
  get localAddress(): string | null {
    return this.socket.localAddress ?? null
  }

  get failure(): ConnectionFailure | null {
    return this.endCause
  }

  /** True if something has arrived that was not read. */
  get hasUnread(): boolean {
    return this.replies.length > 0 || this.parser.isMidway
  }

  /** Bytes that neither the peer nor the kernel has taken yet. */
  get backlog(): number {
    return this.socket.writableLength
  }

  /** Writes all lines at once. `lines` have no line ends. */
  writeLines(lines: readonly string[]): void {
    if (this.endCause === null) this.socket.write(`${lines.join('\r\n')}\r\n`)
  }

  /** Hands everything that `work` writes to the kernel at once. */
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

  /** Resolves when the peer has taken the backlog, something has arrived, or the connection has failed. */
  waitForDrain(timeout: number): Promise<ConnectionFailure | null> {
    if (this.endCause !== null || !this.socket.writableNeedDrain) return Promise.resolve(this.endCause)
    return new Promise((resolve) => {
      this.drainWaiter = { resolve, timer: this.startDeadline(timeout) }
    })
  }

  /** Calls `watcher` once, when the idle connection ends or receives something. Null removes the watcher. */
  watch(watcher: (() => void) | null): void {
    this.watcher = watcher
  }

  /** Starts TLS. Drops an unfinished reply in plain text. `judge` checks the certificates before anything is sent. */
  async upgradeToTls(
    dialer: Dialer,
    options: Parameters<Dialer['upgrade']>[1],
    judge: (socket: TLSSocket) => TlsJudgement,
  ): Promise<ConnectionFailure | null> {
    this.removeListeners()
    try {
      const socket = await dialer.upgrade(this.socket, options)
      this.socket = socket
      this.parser = new ReplyParser()
      this.tlsProtocol = socket instanceof TLSSocket ? socket.getProtocol() : null
      this.transcript.logEvent(`encrypted, ${this.tlsProtocol ?? 'unknown'}`)
      this.removeListeners = this.addListeners(socket)
      const { failure, proof } = judge(socket)
      if (proof !== null) this.proveTls(proof)
      if (failure !== null) this.fail(failure)
    } catch (error) {
      this.fail(toConnectionFailure(error))
    }
    return this.endCause
  }

  private proveTls(proof: string): void {
    this.tlsProtocol = `${this.tlsProtocol ?? 'TLS'}, ${proof}`
    this.transcript.logEvent(proof)
  }

  /** Ends the connection at once, and every wait for it. */
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
      this.fail({ failure: 'protocol', detail: 'too many unsolicited replies' })
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

/** Treats any error that is not the dialer's as an abort. */
export function toConnectionFailure(error: unknown): ConnectionFailure {
  if (error instanceof DialError) return { failure: error.failure, detail: error.message }
  return { failure: 'closed', detail: 'given up' }
}
