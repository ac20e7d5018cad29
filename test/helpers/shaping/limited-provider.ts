/**
 * A provider with limits, and a sender that keeps to a pace towards it, on a virtual clock: the limits are those of
 * `docs/performance.md`, and there is always something to send.
 */
import { PaceControl } from '../../../src/outbound/delivery/shaping/pace-control.js'
import type { PaceState } from '../../../src/outbound/delivery/shaping/pace-state.js'
import type { SendResult } from '../../../src/outbound/delivery/smtp/send-result.js'
import { createVirtualTimer } from './virtual-timer.js'

type RateLimit =
  | { readonly kind: 'bucket'; readonly perSecond: number; readonly burst: number }
  | { readonly kind: 'fixed' | 'sliding'; readonly perSecond: number; readonly window: number }

export interface ProviderLimits {
  readonly sessions: number
  /** Milliseconds that the server takes for a message. */
  readonly service: number
  readonly rate?: RateLimit
  readonly messagesPerSession?: number
  /** Milliseconds from the first message. */
  readonly block?: { readonly from: number; readonly length: number }
  /** Milliseconds to open a session. */
  readonly opening?: number
  /** Milliseconds by which the server notices the end of a session late; a function of the time, if it is busy at times. */
  readonly lateEnd?: number | ((now: number) => number)
  /** Where in its window the provider is at the beginning, milliseconds. */
  readonly phase?: number
}

interface Counts {
  readonly accepted: number
  readonly refused: Readonly<Record<'sessions' | 'rate' | 'messages' | 'block', number>>
  readonly refusedShare: number
  /** Of what the provider allows, without the time of its block. */
  readonly pace: number
  readonly state: PaceState
}

const replies = {
  sessions: '4.7.0 Error: too many connections from 192.0.2.1',
  rate: '4.7.28 Our system has detected an unusual rate of unsolicited mail originating from your IP address.',
  messages: '4.7.0 Too many messages in this session, closing connection',
  block: '5.7.1 blocked: your address [192.0.2.1] is listed for poor reputation',
} as const

interface Session {
  count: number
}

/** Lets the sender work for so many virtual seconds. */
export function sendFor(seconds: number, limits: ProviderLimits, startSessions = 2): Counts {
  const timer = createVirtualTimer()
  const state = { window: { size: startSessions, ceiling: null, ceilingAt: 0 }, messages: null, rate: null }
  const control = new PaceControl(
    { provider: 'simulated', source: '' },
    { ...state, rateRefusedAt: 0, pause: null },
    null,
    {
      timer,
      onRoom: () => pump(),
      onRefused: () => undefined,
      onChange: () => undefined,
      onOutage: () => undefined,
    },
  )
  const takesRate = createLimiter(limits.rate)
  const refused = { sessions: 0, rate: 0, messages: 0, block: 0 }
  const idle: Session[] = []
  let accepted = 0
  let sessionsAtServer = 0

  const isBlocked = (): boolean => {
    const since = timer.now()
    return limits.block !== undefined && since >= limits.block.from && since < limits.block.from + limits.block.length
  }
  const endAtServer = (): void => {
    const { lateEnd = 1 } = limits
    timer.after(typeof lateEnd === 'number' ? lateEnd : lateEnd(timer.now()), () => {
      sessionsAtServer -= 1
    })
  }
  const close = (): void => {
    endAtServer()
    control.closeSession()
  }
  const refuse = (reason: keyof typeof refused, stage: 'banner' | 'mail'): SendResult => {
    refused[reason] += 1
    const text = replies[reason]
    const code = text.startsWith('5') ? 554 : 421
    return { kind: 'refused', stage, reply: { code, enhanced: text.slice(0, text.indexOf(' ')), text } }
  }

  /** One message with its permit, until the permit is given back. */
  const send = (): void => {
    let session = idle.pop()
    while (session !== undefined && session.count >= Math.min(100, control.messagesPerSession)) {
      close()
      session = idle.pop()
    }
    if (session === undefined) open()
    else transact(session)
  }
  const open = (): void => {
    if (!control.hasSessionRoom) {
      if (idle.pop() !== undefined) close()
      void timer.after(20, open)
      return
    }
    const passage = control.beginPassage(0)
    control.openSession()
    timer.after(limits.opening ?? 5, () => {
      const refusal = isBlocked() ? 'block' : sessionsAtServer >= limits.sessions ? 'sessions' : null
      if (refusal === null) {
        sessionsAtServer += 1
        transact({ count: 0 })
        return
      }
      control.judge(refuse(refusal, 'banner'), passage)
      control.closeSession()
      end()
    })
  }
  const transact = (session: Session): void => {
    const passage = control.beginPassage(session.count)
    timer.after(2, () => {
      const reason = isBlocked()
        ? 'block'
        : session.count >= (limits.messagesPerSession ?? Number.POSITIVE_INFINITY)
          ? 'messages'
          : takesRate(timer.now() + (limits.phase ?? 0))
            ? null
            : 'rate'
      if (reason !== null) {
        const verdict = control.judge(refuse(reason, 'mail'), passage)
        close()
        if (verdict.kind === 'resend') open()
        else end()
        return
      }
      timer.after(limits.service, () => {
        accepted += 1
        session.count += 1
        control.judge(
          { kind: 'accepted', reply: { code: 250, enhanced: null, text: 'ok' }, dsnRelayed: false },
          passage,
        )
        if (session.count >= Math.min(100, control.messagesPerSession)) close()
        else idle.push(session)
        end()
      })
    })
  }
  const end = (): void => {
    control.release()
    control.endEntry()
    pump()
  }
  /** As the queue runner does: each entry that may begin begins. */
  const pump = (): void => {
    while (control.mayStart() && control.outage === null) {
      control.startEntry()
      control.request({
        // The permit is used in a turn of its own.
        grant: () => void timer.after(0, send),
        turnAway: () => void timer.after(0, () => control.endEntry()),
      })
    }
  }
  pump()
  timer.advanceTo(seconds * 1000)
  const all = Object.values(refused).reduce((sum, one) => sum + one, 0)
  const forPace = all - refused.block
  const allowed = Math.min(
    limits.rate?.perSecond ?? Number.POSITIVE_INFINITY,
    (limits.sessions * 1000) / limits.service,
  )
  const time = seconds - (limits.block?.length ?? 0) / 1000
  return {
    accepted,
    refused,
    refusedShare: forPace / (accepted + all),
    pace: accepted / time / allowed,
    state: control.state,
  }
}

/** Says whether one more message is within the limit; one that is refused does not count. */
function createLimiter(rate: RateLimit | undefined): (now: number) => boolean {
  if (rate === undefined) return () => true
  if (rate.kind === 'bucket') return createBucket(rate)
  return rate.kind === 'fixed' ? createFixedWindow(rate) : createSlidingWindow(rate)
}

function createBucket({ perSecond, burst }: Extract<RateLimit, { kind: 'bucket' }>): (now: number) => boolean {
  let tokens = burst
  let at = 0
  return (now) => {
    tokens = Math.min(burst, tokens + ((now - at) / 1000) * perSecond)
    at = now
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
}

type WindowLimit = Exclude<RateLimit, { kind: 'bucket' }>

function createFixedWindow({ perSecond, window }: WindowLimit): (now: number) => boolean {
  let index = -1
  let count = 0
  return (now) => {
    if (Math.floor(now / window) !== index) count = 0
    index = Math.floor(now / window)
    if (count >= (perSecond * window) / 1000) return false
    count += 1
    return true
  }
}

/** In slices of a tenth. */
function createSlidingWindow({ perSecond, window }: WindowLimit): (now: number) => boolean {
  const slices = new Map<number, number>()
  return (now) => {
    const slice = Math.floor(now / (window / 10))
    for (const old of slices.keys()) if (old <= slice - 10) slices.delete(old)
    const count = [...slices.values()].reduce((sum, one) => sum + one, 0)
    if (count >= (perSecond * window) / 1000) return false
    slices.set(slice, (slices.get(slice) ?? 0) + 1)
    return true
  }
}
