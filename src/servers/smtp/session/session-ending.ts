/**
 * Ends a session before its client ends it, mostly with a 421: too many faults, the deadline, a message that comes too
 * slowly, its slot given to another client, the stop of the service.
 *
 * A session that must end while a message comes in, or is being stored, ends after the reply to it.
 */
import type { ConnectionState } from '../../../base/platform/connections/connection-limiter.js'
import type { MessageReceiver } from './message-receiver.js'
import type { CommonReason, SessionGate } from './session-gate.js'
import { deadlineReply, idleReply, tooManyCommands, tooManyFaults, tooSlowReply } from './session-replies.js'
import type { SmtpReply } from './smtp-reply.js'
import type { SessionConnection } from './smtp-session.js'

/** Replies that a client gets for not speaking SMTP. */
const faultCodes: ReadonlySet<number> = new Set([500, 501, 502, 503, 504, 530, 538, 555])

/** Replies before a message is accepted, beyond those to its recipients: each takes the main thread a write. */
const MAX_IDLE_REPLIES = 500

interface ClientProgress {
  /** When the client last made progress, in epoch milliseconds. */
  readonly since: number
  /** The client has shown that it uses its slot for mail. */
  readonly isProved: boolean
}

export class SessionEnding {
  private faultCount = 0
  private idleReplies = 0
  private closingReply: SmtpReply | null = null
  private deadline: NodeJS.Timeout | undefined
  private graceTimer: NodeJS.Timeout | undefined

  constructor(
    private readonly gate: SessionGate,
    private readonly connection: SessionConnection,
    private readonly receiver: MessageReceiver,
    private readonly note: (reason: CommonReason) => void,
  ) {}

  startDeadline(): void {
    const { settings, limits } = this.gate
    const endSession = (): void => {
      this.note('deadline')
      this.finish(deadlineReply, limits.finishWithin)
    }
    this.deadline = setTimeout(endSession, settings().session_deadline).unref()
  }

  /** Ends the session with this 421: at once, or after the message that is coming in. */
  finish(reply: SmtpReply, within: number): void {
    if (!this.receiver.isActive) {
      this.connection.reply(reply)
      return
    }
    this.closingReply = reply
    clearTimeout(this.graceTimer)
    const giveUp = (): void => {
      // A complete message is being stored, and will be answered.
      if (this.receiver.isIncomplete) this.connection.reply(reply)
    }
    this.graceTimer = setTimeout(giveUp, within).unref()
  }

  /** What the connection limiter may judge. Null if a message comes in, or the client waits for us. */
  stateOf({ since, isProved }: ClientProgress): ConnectionState | null {
    const { receiver, gate } = this
    if (receiver.isWaiting) return null
    if (receiver.isActive) return receiver.isBehind() ? { rank: 'slow', since, isFresh: false } : null
    return { rank: isProved ? 'idle' : 'unproved', since, isFresh: gate.clock() - since < gate.limits.givesWayAfter }
  }

  /** Ends the session for another client, which has its slot already. */
  evict(): void {
    const isSlow = this.receiver.isActive
    this.note(isSlow ? 'too-slow' : 'idle')
    if (!this.connection.isInHandshake) this.connection.reply(isSlow ? tooSlowReply : idleReply)
    this.connection.destroySoon()
  }

  /** The message that comes in is too slow. */
  endSlowTransfer(): void {
    this.note('too-slow')
    this.connection.reply(tooSlowReply)
  }

  countReply(code: number): void {
    const { maxFaults } = this.gate.limits
    this.idleReplies += 1
    if (faultCodes.has(code)) {
      this.faultCount += 1
      if (this.faultCount >= maxFaults) this.end('faults', tooManyFaults)
    } else if (
      this.idleReplies > this.gate.settings().max_recipients + MAX_IDLE_REPLIES &&
      code !== tooManyCommands.code
    ) {
      this.end('commands', tooManyCommands)
    }
  }

  private end(reason: CommonReason, reply: SmtpReply): void {
    this.note(reason)
    this.connection.reply(reply)
  }

  /** A message was accepted: the client does speak SMTP. */
  forgiveFaults(): void {
    this.faultCount = 0
    this.idleReplies = 0
  }

  /** The transaction is over. */
  reset(): void {
    if (this.closingReply !== null) this.connection.reply(this.closingReply)
  }

  close(): void {
    clearTimeout(this.deadline)
    clearTimeout(this.graceTimer)
  }
}
