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
import { DialError, type Dialer, dialError } from '../../platform/dialer.js'
import { type Heard, ReplyParser } from './reply-parser.js'
import type { Transcript } from './transcript.js'

/** More than any pipelined transaction can leave unread. */
const MAX_UNREAD = 16

/** The connection is over. `detail` ends a sentence: `connection closed`. */
export interface WireFailure {
  readonly failure: Failure
  readonly detail: string
}

export type Arrival =
  | { readonly kind: 'heard'; readonly heard: Heard }
  | { readonly kind: 'failed'; readonly why: WireFailure }

interface Waiting<T> {
  readonly timer: NodeJS.Timeout
  readonly resolve: (value: T) => void
}

export class Wire {
  private socket: Socket
  private parser = new ReplyParser()
  private readonly replies: Heard[] = []
  private failure: WireFailure | null = null
  private reader: Waiting<Arrival> | null = null
  private writer: Waiting<WireFailure | null> | null = null
  private watcher: (() => void) | null = null
  private tlsProtocol: string | null = null
  /** Takes our listeners off the socket. */
  private deafen: () => void

  constructor(
    socket: Socket,
    readonly transcript: Transcript,
  ) {
    this.socket = socket
    this.deafen = this.listen(socket)
  }

  /** As `TLSv1.3`; null: plain text. */
  get tls(): string | null {
    return this.tlsProtocol
  }

  get failed(): WireFailure | null {
    return this.failure
  }

  /** Something has arrived that nobody has read. */
  get unread(): boolean {
    return this.replies.length > 0 || this.parser.midway
  }

  /** Bytes that neither the peer nor the kernel has taken yet. */
  get backlog(): number {
    return this.socket.writableLength
  }

  /** Lines without their ends, in one write. */
  say(lines: readonly string[]): void {
    if (this.failure === null) this.socket.write(`${lines.join('\r\n')}\r\n`)
  }

  /** What is written by `work` leaves in one piece, as far as the kernel takes it. */
  together(work: () => void): void {
    this.socket.cork()
    work()
    this.socket.uncork()
  }

  write(bytes: Buffer): void {
    if (this.failure === null) this.socket.write(bytes)
  }

  reply(timeout: number): Promise<Arrival> {
    const heard = this.replies.shift()
    if (heard !== undefined) return Promise.resolve({ kind: 'heard', heard })
    if (this.failure !== null) return Promise.resolve({ kind: 'failed', why: this.failure })
    return new Promise((resolve) => {
      this.reader = { resolve, timer: this.deadline(timeout) }
    })
  }

  /** Resolves when the backlog is taken, or something arrives, or the wire has failed. */
  drained(timeout: number): Promise<WireFailure | null> {
    if (this.failure !== null || !this.socket.writableNeedDrain) return Promise.resolve(this.failure)
    return new Promise((resolve) => {
      this.writer = { resolve, timer: this.deadline(timeout) }
    })
  }

  /** Calls `watcher` once, when an idle connection ends or speaks up; null: no longer. */
  watch(watcher: (() => void) | null): void {
    this.watcher = watcher
  }

  /** Speaks TLS from here on. What the peer said in plain text before counts no more. */
  async secure(dialer: Dialer, options: Parameters<Dialer['upgrade']>[1]): Promise<WireFailure | null> {
    this.deafen()
    try {
      const socket = await dialer.upgrade(this.socket, options)
      this.socket = socket
      this.parser = new ReplyParser()
      this.tlsProtocol = socket instanceof TLSSocket ? socket.getProtocol() : null
      this.transcript.note(`encrypted, ${this.tlsProtocol ?? 'unknown'}`)
      this.deafen = this.listen(socket)
    } catch (error) {
      this.fail(failureOf(error))
    }
    return this.failure
  }

  /** Ends the connection at once, and everything that waits for it. */
  fail(why: WireFailure): void {
    if (this.failure !== null) return
    this.failure = why
    this.transcript.note(why.detail)
    this.socket.destroy()
    settle(this.reader, { kind: 'failed', why })
    settle(this.writer, why)
    this.reader = this.writer = null
    this.alarm()
  }

  private listen(socket: Socket): () => void {
    const data = (chunk: Buffer): void => this.take(chunk)
    const drain = (): void => this.writable()
    const error = (cause: Error): void => this.fail(failureOf(dialError(cause, 'reset')))
    const close = (): void => this.fail({ failure: 'closed', detail: 'connection closed' })
    socket.on('data', data).on('drain', drain).on('error', error).on('end', close).on('close', close)
    return () => {
      socket.off('data', data).off('drain', drain).off('error', error).off('end', close).off('close', close)
    }
  }

  private take(chunk: Buffer): void {
    for (const parsed of this.parser.feed(chunk)) {
      if (parsed.kind === 'nonsense') this.fail({ failure: 'protocol', detail: parsed.why })
      else this.pass(parsed)
    }
    if (!this.unread) return
    this.writable()
    this.alarm()
  }

  private pass(heard: Heard): void {
    const reader = this.reader
    this.reader = null
    if (reader !== null) settle(reader, { kind: 'heard', heard })
    else if (this.replies.push(heard) > MAX_UNREAD) {
      this.fail({ failure: 'protocol', detail: 'replies that nobody asked for' })
    }
  }

  private writable(): void {
    settle(this.writer, null)
    this.writer = null
  }

  private alarm(): void {
    const watcher = this.watcher
    this.watcher = null
    watcher?.()
  }

  private deadline(timeout: number): NodeJS.Timeout {
    return setTimeout(() => this.fail({ failure: 'timeout', detail: `no answer within ${timeout / 1000} s` }), timeout)
  }
}

function settle<T>(waiting: Waiting<T> | null, value: T): void {
  if (waiting === null) return
  clearTimeout(waiting.timer)
  waiting.resolve(value)
}

/** Of an error of the dialer. Whatever else was thrown is an abort: the end of the wire all the same. */
export function failureOf(error: unknown): WireFailure {
  if (error instanceof DialError) return { failure: error.failure, detail: error.message }
  return { failure: 'closed', detail: 'given up' }
}
