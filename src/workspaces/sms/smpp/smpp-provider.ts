/**
 * Sends messages through an SMSC by SMPP 3.4 and reports its receipts.
 *
 * It submits the segments of a message one after the other. All messages together have at most 10 segments that wait
 * for their responses. It never submits a segment twice, except when the SMSC has answered that it took none:
 * throttled, or its queue full. Without a session, a message waits for one for at most 5 s. The log has neither
 * texts nor phones.
 *
 * It refuses a message that waits behind others 3 s before its deadline. Otherwise an SMSC that is slower than the
 * requests would get each message when its answer comes too late, and phones would get codes that are not valid.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Semaphore } from '../../../base/platform/semaphore.js'
import type { Receipt, SendOutcome, SmsMessage, SmsProvider } from '../provider.js'
import { type LinkDeps, type LinkTimes, SmppLink } from './link.js'
import { MessageIds } from './message-ids.js'
import { OK_STATUS, type Pdu, type PduFields, QUEUE_FULL_STATUS, statusNameOf, THROTTLED_STATUS } from './pdu.js'
import { readDelivery } from './read-delivery.js'
import type { SmppOutcome } from './session.js'
import { buildSubmissions } from './submissions.js'
import { Throttle } from './throttle.js'

interface SmppTimes extends LinkTimes {
  /** Milliseconds that a message waits for a session. */
  readonly connectWait: number
  readonly throttlePause: number
  /** Milliseconds for the answer. No message begins later than this long before its deadline. */
  readonly submission: number
}

interface SmppProviderDeps extends Omit<LinkDeps, 'times' | 'onDelivery'> {
  /**
   * The sender that the receiver of a message sees: a name, a number with plus, or a short code. Each message reads
   * it.
   */
  readonly sender: () => string
  /** Resolves when the receipt is stored. `unknown` means that no message has this id. */
  readonly onReceipt: (receipt: Receipt) => Promise<'applied' | 'unknown'>
  readonly times?: Partial<SmppTimes>
}

type SegmentOutcome = Exclude<SendOutcome, { kind: 'accepted' }> | { readonly kind: 'accepted'; readonly id: string }

const defaultTimes: SmppTimes = {
  dial: 10_000,
  answer: 10_000,
  idle: 30_000,
  minPause: 1_000,
  maxPause: 60_000,
  refusedPause: 60_000,
  settled: 60_000,
  unbind: 2_000,
  connectWait: 5_000,
  throttlePause: 1_000,
  submission: 3_000,
}

const MAX_OUTSTANDING = 10
const MAX_WAITING = 1_000
const MAX_ID_LENGTH = 65
/** Milliseconds between two lines about throttling. */
const LOG_INTERVAL = 60_000

export class SmppProvider implements SmsProvider {
  readonly name = 'smpp'
  private readonly link: SmppLink
  private readonly window = new Semaphore(MAX_OUTSTANDING, MAX_WAITING)
  private readonly ids = new MessageIds()
  private readonly throttle: Throttle
  private readonly stopping = new AbortController()
  private readonly deps: SmppProviderDeps & { readonly times: SmppTimes }
  private reference: number
  private quietUntil = 0

  constructor(given: SmppProviderDeps) {
    this.deps = { ...given, times: { ...defaultTimes, ...given.times } }
    this.throttle = new Throttle(given.clock, this.deps.times.throttlePause)
    this.reference = Math.floor(given.random() * 256)
    this.link = new SmppLink({ ...this.deps, onDelivery: (pdu) => this.report(pdu) })
  }

  async send(message: SmsMessage, deadline: number): Promise<SendOutcome> {
    const { sender, clock, times } = this.deps
    this.reference = (this.reference + 1) % 256
    const messageIds: string[] = []
    for (const submission of buildSubmissions(message, { sender: sender(), now: clock(), reference: this.reference })) {
      const beginBy = messageIds.length === 0 ? deadline - times.submission : deadline
      const outcome = await this.submit(submission, deadline, beginBy)
      if (outcome.kind !== 'accepted') return outcome
      messageIds.push(outcome.id)
    }
    // If an id is missing, the receipts of the others would not say whether the message arrived.
    return { kind: 'accepted', messageIds: messageIds.includes('') ? [] : messageIds }
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.window.close()
    await this.link.stop()
  }

  /** Waits until the SMSC has taken or refused the segment, or until the time is over. */
  private async submit(submission: PduFields, deadline: number, beginBy: number): Promise<SegmentOutcome> {
    const { clock, times } = this.deps
    const connectBy = Math.min(beginBy, clock() + times.connectWait)
    let throttledFor = 0
    let throttledBy = 'throttled'
    for (;;) {
      const wait = this.throttle.remainingPause()
      if (clock() + wait >= beginBy) return { kind: 'refused', reason: `${throttledBy}, and no time is left` }
      if (!(await this.waitFor(wait))) return { kind: 'refused', reason: 'the service is stopping' }
      throttledFor += wait
      const session = await this.link.waitForSession(connectBy + throttledFor - clock())
      if (session === null) return { kind: 'refused', reason: `no SMPP session: ${this.link.fault}` }
      if (!(await this.window.acquire(Math.max(0, beginBy - clock())))) {
        return { kind: 'refused', reason: 'too many messages wait for the SMSC' }
      }
      const sentAt = clock()
      const outcome = await session
        .request('submit_sm', submission, Math.max(1, deadline - sentAt))
        .finally(() => this.window.release())
      const decided = this.decide(outcome, sentAt)
      if (decided.kind !== 'again') return decided
      throttledBy = decided.reason
    }
  }

  private decide(outcome: SmppOutcome, sentAt: number): SegmentOutcome | { kind: 'again'; reason: string } {
    switch (outcome.kind) {
      case 'timeout':
        return { kind: 'silent', reason: 'no answer to submit_sm' }
      case 'lost':
        return { kind: 'silent', reason: 'the connection was lost before the answer to submit_sm' }
      case 'unsent':
        return { kind: 'again', reason: 'the connection was lost' }
      case 'response':
        return this.decideResponse(outcome.pdu, sentAt)
    }
  }

  private decideResponse(
    { command, status, fields }: Pdu,
    sentAt: number,
  ): SegmentOutcome | { kind: 'again'; reason: string } {
    const reason = statusNameOf(status)
    if (status === THROTTLED_STATUS || status === QUEUE_FULL_STATUS) {
      if (this.throttle.recordThrottled(sentAt)) this.logThrottled(reason)
      return { kind: 'again', reason }
    }
    if (status !== OK_STATUS || command === 'generic_nack') return { kind: 'refused', reason }
    this.throttle.recordAccepted()
    const written = fields['message_id']
    const id = typeof written === 'string' && written.length <= MAX_ID_LENGTH ? written : ''
    if (id !== '') this.ids.recordId(id)
    return { kind: 'accepted', id }
  }

  private logThrottled(status: string): void {
    const now = this.deps.clock()
    if (now < this.quietUntil) return
    this.quietUntil = now + LOG_INTERVAL
    this.deps.log.warn({ status }, 'the SMSC throttles messages: sending slows down')
  }

  /** False means that the service stops. */
  private async waitFor(time: number): Promise<boolean> {
    const { signal } = this.stopping
    if (time > 0) await pause(time, undefined, { signal }).catch(() => undefined)
    return !signal.aborted
  }

  /** Rejects if the receipt could not be stored. */
  private async report(pdu: Pdu): Promise<void> {
    const { log, onReceipt } = this.deps
    const delivery = readDelivery(pdu)
    if (delivery.kind === 'message') return log.debug('a message from a phone is dropped')
    if (delivery.kind === 'no-news') return log.debug({ reason: delivery.reason }, 'a receipt without a final state')
    const { state, reason } = delivery
    const messageIds = this.ids.listCandidates(delivery.id)
    await onReceipt({ provider: this.name, messageIds, smsId: null, state, reason })
  }
}
