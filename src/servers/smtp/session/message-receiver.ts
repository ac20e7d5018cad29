/**
 * Receives the message of a DATA command: its memory, its pace, its state.
 *
 * A message that is declared as large gets its 354 when there is memory for all of it, in order
 * of arrival. Smaller ones take memory as they come.
 */

import { Refusal } from '../../../base/mail/refusal.js'
import { addressKeyOf } from '../../../base/platform/connections/client-address.js'
import { TransferWatch } from '../../../base/platform/connections/transfer-pace.js'
import { type MemoryReservation, RESERVE_FROM_BYTES, reserveMemory } from '../../../base/platform/memory/reservation.js'
import { IncomingMessage, SmtpClientGone } from './incoming-message.js'
import type { SessionGate } from './session-gate.js'
import { type SmtpReply, storageFull } from './smtp-reply.js'
import type { Answer, MessageTransfer, SessionConnection } from './smtp-session.js'

/** How the sessions that receive messages differ. */
interface ReceiverRules {
  /** The refusal of a message that finds no memory. */
  readonly buildNoRoomRefusal: () => Refusal
  /** The reply to what was thrown. */
  readonly replyTo: (error: unknown) => SmtpReply
  /** The message comes too slowly and must not go on. */
  readonly onTooSlow: () => void
  /**
   * Counts bytes as they come. Returns a Refusal if the message may not be kept. If it is absent, bytes are not
   * limited.
   */
  readonly countBytes?: (bytes: number) => Refusal | null
}

/**
 * Bytes over the size limit count for the pace too: they are read to their end. It is a class, because an object
 * literal with a getter leaves a hidden class behind that keeps the message in memory until the next full garbage
 * collection.
 */
class Progress {
  constructor(private readonly message: IncomingMessage) {}

  get bytes(): number {
    return this.message.receivedBytes
  }
}

export class MessageReceiver {
  private waiting: AbortController | null = null
  private reserved: MemoryReservation | null = null
  private message: IncomingMessage | null = null
  private watch: TransferWatch | null = null

  constructor(
    private readonly gate: SessionGate,
    private readonly connection: Pick<SessionConnection, 'remoteAddress' | 'isOpen'>,
    private readonly rules: ReceiverRules,
  ) {}

  /** A message waits for memory before its 354. */
  get isWaiting(): boolean {
    return this.waiting !== null
  }

  /** True from the 354 to the reply to the message. */
  get isActive(): boolean {
    return this.message !== null
  }

  /** Bytes of the message are still to come. */
  get isIncomplete(): boolean {
    return this.message?.readable === true
  }

  /** The message comes far too slowly. */
  isBehind(): boolean {
    return this.watch?.isBehind() === true
  }

  /**
   * `size` is the declared size, or 0 if it is unknown. Null if the node takes new mail, and there is room on the
   * disk, and in memory or in its queue.
   */
  findRoomRefusal(size: number): Refusal | null {
    if (this.gate.isDraining()) return new Refusal('draining', 'this server is about to stop, try again later')
    if (!this.gate.hasDiskSpace()) return new Refusal('storage-full', storageFull.text)
    return size > RESERVE_FROM_BYTES || this.gate.memory.hasRoomFor(size) ? null : this.rules.buildNoRoomRefusal()
  }

  /**
   * Receives a message whose declared size is `size`, or 0 if it is unknown. `accept` is called with its bytes, which
   * are freed when it has settled. Resolves to a reply if there is no room, or to null if the client is gone.
   */
  async receive(
    size: number,
    accept: (raw: Buffer) => Promise<SmtpReply>,
  ): Promise<MessageTransfer | SmtpReply | null> {
    try {
      const message = await this.begin(size)
      return { message, stored: this.store(message, accept) }
    } catch (error) {
      return this.connection.isOpen ? this.rules.replyTo(error) : null
    }
  }

  private async store(
    message: IncomingMessage,
    accept: (raw: Buffer) => Promise<SmtpReply>,
  ): Promise<SmtpReply | null> {
    try {
      const { raw, release } = await message.collected
      return await this.acceptMeasured(raw, accept).finally(release)
    } catch (error) {
      return error instanceof SmtpClientGone ? null : this.rules.replyTo(error)
    }
  }

  private async acceptMeasured(raw: Buffer, accept: (raw: Buffer) => Promise<SmtpReply>): Promise<SmtpReply> {
    const receivedAt = performance.now()
    const reply = await accept(raw).catch((error: unknown) => this.rules.replyTo(error))
    this.gate.observer?.onMessage(reply.code, performance.now() - receivedAt)
    return reply
  }

  private begin(size: number): Answer<IncomingMessage> {
    this.requireRoom(size)
    return size > RESERVE_FROM_BYTES ? this.beginReserved(size) : this.createMessage()
  }

  private async beginReserved(size: number): Promise<IncomingMessage> {
    if (!(await this.reserve(size))) throw this.rules.buildNoRoomRefusal()
    try {
      this.requireRoom(size)
    } catch (error) {
      this.release()
      throw error
    }
    return this.createMessage()
  }

  private requireRoom(size: number): void {
    const refusal = this.findRoomRefusal(size)
    if (refusal !== null) throw refusal
  }

  /** False if there was no room in time, or the session was closed. */
  private async reserve(size: number): Promise<boolean> {
    const { memoryByClient, limits } = this.gate
    const waiting = new AbortController()
    this.waiting = waiting
    const memory = memoryByClient.forOwner(addressKeyOf(this.connection.remoteAddress))
    const reserved = await reserveMemory(memory, size, { timeout: limits.memoryWait, signal: waiting.signal })
    this.waiting = null
    if (waiting.signal.aborted) reserved?.end()
    else this.reserved = reserved
    return reserved !== null && !waiting.signal.aborted
  }

  private createMessage(): IncomingMessage {
    const { memory } = this.gate
    const { max_size: maxSize, min_data_rate: bytesPerSecond, min_data_rate_patience: patience } = this.gate.settings()
    const { buildNoRoomRefusal, countBytes } = this.rules
    const budget = this.reserved ?? memory
    const message = new IncomingMessage(maxSize, budget, buildNoRoomRefusal, undefined, countBytes)
    this.watch = new TransferWatch(new Progress(message), { bytesPerSecond, patience }, this.rules.onTooSlow)
    message.once('end', () => this.release())
    this.message = message
    return message
  }

  /** The message was answered. */
  reset(): void {
    this.message = null
  }

  /** Ends the wait and the watch, and gives back what is reserved and not used. */
  release(): void {
    this.watch?.end()
    this.watch = null
    this.waiting?.abort()
    this.reserved?.end()
    this.reserved = null
  }
}
