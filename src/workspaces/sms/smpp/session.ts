/**
 * One SMPP session over an open socket: requests with their responses, and answers to what the SMSC asks.
 *
 * It ends at the first fault: a unit of an impossible length, an `enquire_link` without an answer, a peer that does
 * not read. Requests that wait then are `lost`. The session refuses any other unit that cannot be read and reads the
 * next one: what a phone sends must not end the session each time that the SMSC delivers it. `link.ts` dials, binds
 * and reconnects.
 *
 * Limits: while 50 deliveries are processed, the session stops reading. 256 KB may wait for the peer to read them.
 */
import type { Duplex } from 'node:stream'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { Semaphore } from '../../../base/platform/semaphore.js'
import {
  decodePdu,
  encodePdu,
  INVALID_COMMAND_STATUS,
  INVALID_LENGTH_STATUS,
  OK_STATUS,
  type Pdu,
  type PduFields,
  TEMPORARY_FAULT_STATUS,
} from './pdu.js'
import { readPdus } from './read-pdus.js'

export type SmppOutcome =
  | { readonly kind: 'response'; readonly pdu: Pdu }
  | { readonly kind: 'timeout' }
  /** The connection broke; the peer may have read the request. */
  | { readonly kind: 'lost' }
  /** The session had ended before: the peer never saw the request. */
  | { readonly kind: 'unsent' }

export interface SmppSessionTimes {
  /** Milliseconds without a unit from the peer, after which we ask it for a sign of life. */
  readonly idle: number
  /** Milliseconds to wait for the answers to `enquire_link` and to the bind. */
  readonly answer: number
}

interface SessionDeps {
  readonly times: SmppSessionTimes
  /**
   * Handles what the SMSC delivers. When it resolves, we acknowledge the delivery. If it rejects, the SMSC delivers
   * again.
   */
  readonly onDelivery: (pdu: Pdu) => Promise<void>
}

interface WaitingRequest {
  readonly response: string
  readonly settle: (outcome: SmppOutcome) => void
}

const MAX_SEQUENCE = 0x7fff_ffff
const MAX_DELIVERIES = 50
const MAX_UNREAD_BYTES = 256 * 1024
/** Milliseconds for the peer to read what was written before the end. */
const FLUSH_TIME = 1_000

export class SmppSession {
  /** Resolves to the reason when the session ends. */
  readonly ended: Promise<string>
  private readonly waiting = new Map<number, WaitingRequest>()
  private readonly deliveries = new Semaphore(MAX_DELIVERIES, 1)
  private readonly idleTimer: NodeJS.Timeout
  private sequence = 0
  private reason: string | null = null
  private resolveEnded: (reason: string) => void = () => undefined

  constructor(
    private readonly socket: Duplex,
    private readonly deps: SessionDeps,
  ) {
    // Reading reports the error too.
    socket.on('error', () => undefined)
    this.idleTimer = setTimeout(() => void this.checkLink(), deps.times.idle)
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve
    })
    void this.read()
  }

  get isOpen(): boolean {
    return this.reason === null
  }

  /** Never rejects. `maxWait` is in milliseconds. */
  request(command: string, fields: PduFields, maxWait: number): Promise<SmppOutcome> {
    if (this.reason !== null) return Promise.resolve({ kind: 'unsent' })
    this.sequence = this.sequence === MAX_SEQUENCE ? 1 : this.sequence + 1
    const { sequence } = this
    return new Promise((resolve) => {
      const settle = (outcome: SmppOutcome): void => {
        clearTimeout(timer)
        this.waiting.delete(sequence)
        resolve(outcome)
      }
      const timer = setTimeout(settle, maxWait, { kind: 'timeout' })
      this.waiting.set(sequence, { response: `${command}_resp`, settle })
      this.write(encodePdu({ command, sequence, fields }))
    })
  }

  /** Ends the session. The first reason counts. */
  end(reason: string): void {
    if (this.reason !== null) return
    this.reason = reason
    this.resolveEnded(reason)
    clearTimeout(this.idleTimer)
    this.deliveries.close()
    for (const { settle } of [...this.waiting.values()]) settle({ kind: 'lost' })
    this.socket.end()
    const timer = setTimeout(() => this.socket.destroy(), FLUSH_TIME)
    this.socket.once('close', () => clearTimeout(timer))
  }

  private async read(): Promise<void> {
    try {
      for await (const bytes of readPdus(this.socket)) {
        if (this.reason !== null) break
        this.idleTimer.refresh()
        await this.handle(decodePdu(bytes))
      }
      this.end('the SMSC closed the connection')
    } catch (error) {
      this.end(errorMessageOf(error))
    }
  }

  private async handle(pdu: Pdu): Promise<void> {
    const { command, sequence } = pdu
    if (pdu.isResponse) return this.settleRequest(pdu)
    switch (command) {
      case 'enquire_link':
        return this.write(encodePdu({ command: 'enquire_link_resp', sequence }))
      case 'unbind':
        this.write(encodePdu({ command: 'unbind_resp', sequence }))
        return this.end('the SMSC unbound')
      case 'deliver_sm':
      case 'data_sm':
        if (await this.deliveries.acquire(this.deps.times.idle)) void this.deliver(pdu)
        else this.end('deliveries are not stored')
        return
      case 'outbind':
      case 'alert_notification':
        // These commands have no response.
        return
      case 'malformed':
        return this.write(encodePdu({ command: 'generic_nack', sequence, status: INVALID_LENGTH_STATUS }))
      default:
        this.write(encodePdu({ command: 'generic_nack', sequence, status: INVALID_COMMAND_STATUS }))
    }
  }

  /** Ignores a response to nothing, or to another command. */
  private settleRequest(pdu: Pdu): void {
    const request = this.waiting.get(pdu.sequence)
    if (request === undefined) return
    if (pdu.command === 'generic_nack' || pdu.command === request.response) request.settle({ kind: 'response', pdu })
  }

  private async deliver(pdu: Pdu): Promise<void> {
    const status = await this.deps.onDelivery(pdu).then(
      () => OK_STATUS,
      () => TEMPORARY_FAULT_STATUS,
    )
    this.deliveries.release()
    this.write(encodePdu({ command: `${pdu.command}_resp`, sequence: pdu.sequence, status }))
  }

  private async checkLink(): Promise<void> {
    const outcome = await this.request('enquire_link', {}, this.deps.times.answer)
    if (outcome.kind === 'timeout') this.end(`no answer to enquire_link within ${this.deps.times.answer / 1000} s`)
    else this.idleTimer.refresh()
  }

  private write(bytes: Buffer): void {
    if (this.reason !== null) return
    this.socket.write(bytes)
    if (this.socket.writableLength > MAX_UNREAD_BYTES) this.end('the SMSC does not read')
  }
}
