/**
 * A *pace* is how fast one provider takes mail from one of our addresses: who may send now, and what the replies have
 * taught.
 *
 * An entry counts from its start to its end (`startEntry`), and needs a permit to send (`request`). A *permit* is the
 * right to send one message now. The session window, the rate and pauses limit the permits. Requests that wait for a
 * permit are served in order, or turned away when a long pause begins. The host of a route has no limits and no timing
 * until its first refusal.
 *
 * Times are milliseconds of a steady clock.
 */
import type { Reply, Stage } from '../../../base/mail/reply.js'
import { describePause } from '../../../records/messages/queue/waits-for.js'
import { classifyReply } from '../../../records/messages/replies/classify-reply.js'
import type { PaceSignal } from '../../../records/messages/replies/pace-signal.js'
import type { SendResult } from '../smtp/send-result.js'
import { OpenSessions } from './open-sessions.js'
import { PaceEstimate } from './pace-estimate.js'
import type { LearnedMessages, PaceId, PaceState, PaceTimer, PaceVerdict, Passage, Pause } from './pace-state.js'
import { type PauseKind, pauseTimeOf, quoteForAll } from './pause.js'
import { SessionWindow } from './session-window.js'
import type { Outage } from './unreachable-hosts.js'

/** Entries are written to the database only for pauses of at least this many milliseconds. */
const LONG_PAUSE = 6_000
/** The most entries that begin during a long pause. Each takes its lane to the database. */
const MAX_ENTRIES_IN_PAUSE = 20
/** Entries under way for each session: while one message is sent, the next one is signed and leased. */
const ENTRIES_PER_SESSION = 2
/** Where the rate is limited, the entries of this many seconds may be under way. */
const LOOKAHEAD = 2
/** Milliseconds after which a message is tried again whose session was refused. */
const RETRY_SOON = 1_000
/** Milliseconds after which a learned number of messages per session is forgotten. */
const FORGET_MESSAGES = 86_400_000

export interface PaceDeps {
  readonly timer: PaceTimer
  /** Called when there may be room for an entry that waits in memory. */
  readonly onRoom: () => void
  /** Called for each refusal for pace. */
  readonly onRefused: (id: PaceId, signal: PaceSignal) => void
  /** Called when `state` must be stored. */
  readonly onChange: (control: PaceControl) => void
  /** Called for each pause in which entries wait in the database. */
  readonly onOutage: (id: PaceId, outage: Outage) => void
}

interface PaceWaiter {
  readonly grant: () => void
  readonly turnAway: (outage: Outage) => void
}

const noVerdict: PaceVerdict = { kind: 'none' }

export class PaceControl {
  private readonly window: SessionWindow
  private readonly estimate: PaceEstimate
  private messages: LearnedMessages | null
  private pauseNow: Pause | null
  private entries = 0
  private permits = 0
  private readonly sessions: OpenSessions
  private readonly waiters = new Set<PaceWaiter>()
  private cancelTimer: (() => void) | null = null
  private stopOutage: Outage | null = null

  /** `messagesAtFirst` limits the messages of a session until its provider teaches more. Null sets no limit. */
  constructor(
    readonly id: PaceId,
    state: PaceState,
    private readonly messagesAtFirst: number | null,
    private readonly deps: PaceDeps,
  ) {
    this.window = new SessionWindow(state.window)
    this.estimate = new PaceEstimate({ rate: state.rate, refusedAt: state.rateRefusedAt })
    this.messages = state.messages
    this.sessions = new OpenSessions(deps.timer)
    this.pauseNow = state.pause
    if (this.pauseLeft > 0) this.arm(this.pauseLeft)
  }

  get state(): PaceState {
    const { size, ceiling, ceilingAt } = this.window
    const { rate, refusedAt: rateRefusedAt } = this.estimate
    return { window: { size, ceiling, ceilingAt }, messages: this.messages, rate, rateRefusedAt, pause: this.pauseNow }
  }

  /** Tells whether the provider has refused anything for its pace that is not forgotten. */
  get isLearned(): boolean {
    return (
      this.messages !== null || this.pauseNow !== null || this.window.ceiling !== null || this.estimate.rate !== null
    )
  }

  /** A pause in which entries wait in the database. Null if there is none, or only a short one. */
  get outage(): Outage | null {
    if (this.pauseNow === null || this.pauseLeft < LONG_PAUSE) return null
    const until = this.deps.timer.toWall(this.pauseNow.until)
    const why = describePause({ ...this.pauseNow, provider: this.id.provider })
    return { kind: 'outage', until, why, ...(this.pauseNow.kind === 'block' ? { isBlock: true } : {}) }
  }

  /** The most messages that one session may get. */
  get messagesPerSession(): number {
    const learned = this.messages
    if (learned !== null && this.deps.timer.now() - learned.at < FORGET_MESSAGES) return learned.count
    return this.messagesAtFirst ?? Number.POSITIVE_INFINITY
  }

  mayStart(): boolean {
    return this.entries < this.maxEntries
  }

  startEntry(): void {
    this.entries += 1
  }

  endEntry(): void {
    this.entries -= 1
  }

  /** Takes a permit if one is free at once. Returns false if none is. */
  take(): boolean {
    if (this.waiters.size > 0 || this.pauseNow !== null || this.permits >= this.window.size) return false
    if (this.estimate.take(this.deps.timer.now()) > 0) return false
    this.permits += 1
    return true
  }

  /** Grants a permit now or later, or turns the waiter away. Returns a function that withdraws the request. */
  request(waiter: PaceWaiter): () => void {
    this.waiters.add(waiter)
    this.serve()
    return () => {
      this.waiters.delete(waiter)
    }
  }

  /** Turns away all waiters, and all later ones that would have to wait, because the service stops. */
  stopWaiting(until: Outage): void {
    this.stopOutage = until
    this.serve()
  }

  release(): void {
    this.permits -= 1
    this.serve()
  }

  /** Tells whether there is room for one more session. */
  get hasSessionRoom(): boolean {
    return this.sessions.count < this.window.size
  }

  /** Counts a session that is being opened. */
  openSession(): void {
    this.sessions.open()
  }

  /** Counts the end of a connection. */
  closeSession(): void {
    this.sessions.close(this.window.ceiling !== null)
  }

  /** Resolves when a session ends. */
  waitForSession(): Promise<void> {
    return this.sessions.waitForEnd()
  }

  /** Begins the passage of a message that is handed to a session, or for which a session is opened. */
  beginPassage(sentBefore: number): Passage {
    return { begunAt: this.deps.timer.now(), sentBefore }
  }

  /** Returns what the result of a message, or of the opening of its session, says about the pace. */
  judge(sent: SendResult, passage: Passage): PaceVerdict {
    const now = this.deps.timer.now()
    if (sent.kind === 'accepted') return this.noteTaken(passage, now)
    // If the probe has no answer, the pause says nothing more: hosts that are down have other waits.
    if (sent.kind !== 'refused')
      return sent.kind === 'failed' && this.pauseLeft <= 0 ? this.endPause(passage, now) : noVerdict
    const signal = classifyReply(sent.stage, sent.reply).pace
    if (signal !== null) return this.noteRefused(signal, sent.reply, passage, now)
    return isPastMail(sent.stage) ? this.noteTaken(passage, now) : noVerdict
  }

  private get maxEntries(): number {
    if (this.pauseLeft >= LONG_PAUSE) return MAX_ENTRIES_IN_PAUSE
    if (this.pauseNow !== null) return 1
    const { rate } = this.estimate
    const bySessions = this.window.size * ENTRIES_PER_SESSION
    return rate === null ? bySessions : Math.min(bySessions, Math.ceil(rate * LOOKAHEAD) + 1)
  }

  private get pauseLeft(): number {
    return this.pauseNow === null ? 0 : this.pauseNow.until - this.deps.timer.now()
  }

  private noteTaken(passage: Passage, now: number): PaceVerdict {
    this.estimate.noteTaken(now)
    if (this.waiters.size > 0) this.window.noteTaken(this.sessions.count, now)
    return this.endPause(passage, now)
  }

  private endPause({ begunAt }: Passage, now: number): PaceVerdict {
    if (this.pauseNow === null || begunAt < this.pauseNow.since) return noVerdict
    if (this.pauseNow.kind === 'rate') this.estimate.noteRecovered(now)
    else this.estimate.beginCycle(now)
    this.pauseNow = null
    this.deps.onChange(this)
    this.serve()
    this.deps.onRoom()
    return noVerdict
  }

  private noteRefused(signal: PaceSignal, reply: Reply, passage: Passage, now: number): PaceVerdict {
    // The count includes the session that was refused.
    const others = this.sessions.count - 1
    if (signal === 'unnamed' && others < 1) return noVerdict
    this.deps.onRefused(this.id, signal)
    if (signal === 'messages' && passage.sentBefore > 0) return this.learnMessages(passage.sentBefore, now)
    if ((signal === 'sessions' || signal === 'unnamed') && others > 0) {
      this.noteSessionRefused(others, now)
      return { kind: 'retry', at: this.deps.timer.toWall(now + RETRY_SOON) }
    }
    this.pause(signal === 'block' ? 'block' : 'rate', reply, passage, now)
    return { kind: 'retry', at: this.deps.timer.toWall(this.pauseNow?.until ?? now) }
  }

  /** The server may still have counted a session that has ended, which is no reason to shrink the window at once. */
  private noteSessionRefused(others: number, now: number): void {
    if (this.window.ceiling === null || !this.sessions.waitLonger()) this.window.noteRefused(others, now)
    this.deps.onChange(this)
  }

  private learnMessages(sentBefore: number, now: number): PaceVerdict {
    this.messages = { count: Math.min(sentBefore, this.messagesPerSession), at: now }
    this.deps.onChange(this)
    return { kind: 'resend' }
  }

  /** Begins or extends a pause. The refusal of a message that was under way when the pause began does not extend it. */
  private pause(kind: PauseKind, reply: Reply, { begunAt }: Passage, now: number): void {
    const current = this.pauseNow
    if (kind === 'rate') this.estimate.noteRefused(now)
    if (current !== null && begunAt < current.since && current.kind === kind) return
    const probes = current?.kind === kind ? current.probes + 1 : 0
    const text = quoteForAll(reply)
    const since = current?.kind === kind ? current.since : now
    this.pauseNow = { kind, reply: text, since, until: now + pauseTimeOf(kind, probes), probes }
    this.deps.onChange(this)
    if (this.outage !== null) this.deps.onOutage(this.id, this.outage)
    this.serve()
  }

  /** Grants what may be granted now. Otherwise sets a timer to ask again. */
  private serve(): void {
    const outage = this.stopOutage ?? this.outage
    if (outage !== null) {
      for (const waiter of this.waiters) {
        this.waiters.delete(waiter)
        waiter.turnAway(outage)
      }
    }
    if (this.pauseLeft > 0) {
      this.arm(this.pauseLeft)
      return
    }
    const maxPermits = this.pauseNow === null ? this.window.size : 1
    for (const waiter of this.waiters) {
      if (this.permits >= maxPermits) return
      const wait = this.estimate.take(this.deps.timer.now())
      if (wait > 0) {
        this.arm(wait)
        return
      }
      this.permits += 1
      this.waiters.delete(waiter)
      waiter.grant()
    }
  }

  private arm(milliseconds: number): void {
    this.cancelTimer?.()
    this.cancelTimer = this.deps.timer.after(milliseconds, () => {
      this.cancelTimer = null
      const wasPause = this.pauseNow !== null
      this.serve()
      if (wasPause) this.deps.onRoom()
    })
  }
}

/** Tells whether the stage is after MAIL, from which on the provider counts a message. */
function isPastMail(stage: Stage): boolean {
  return stage === 'rcpt' || stage === 'data' || stage === 'message'
}
