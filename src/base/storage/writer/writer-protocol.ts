/**
 * The messages between the main thread and the writer thread.
 *
 * Messages are answered in order, so they need no ids: an answer counts the messages that it settles and lists the
 * failed requests among them. The text of a statement is sent once; after that it is a number, its place in the order
 * of texts.
 *
 * A Buffer is often a small window on a large pool, and cloning it would copy the entire pool, so such a window is
 * copied first. The bytes of `MessageBytes` are transferred if they are lent, or are moved pieces that have their
 * memory alone; lent ones come back with the answer.
 */
import { hasHeadroom } from '../../platform/memory/byte-pieces.js'
import type { ConnectionOptions } from '../db/connection.js'
import type { WrittenBatch } from '../db/database.js'
import { MessageBytes, MOVE_FROM_BYTES, TRANSFER_FROM_BYTES } from '../db/message-bytes.js'
import type { SpoolPlace } from '../db/spool-files.js'
import { ConstraintViolated, LostBytes, StorageFault, type Write, WriteConflict } from '../db/write.js'
import type { WriteRequest } from './group-commit.js'

/** The thread is started with these options. */
export interface WriterThreadOptions extends ConnectionOptions {
  /** Large messages are stored in spool files. */
  readonly spool: boolean
}

/** The requests of one message in two flat lists: a list for each of their statements would cost twice as much to copy. */
interface WireRequests {
  /**
   * For each request: how many writes it has. For each write: its statement, its rows (-1: any number), how many
   * values.
   */
  readonly shape: readonly number[]
  /** The parameters of all writes. */
  readonly values: readonly unknown[]
}

/** Numbers that a write has in `shape`. */
const SHAPE_OF_WRITE = 3

export type ToWriter =
  /** `texts` are new; their numbers continue those before. With `forget`, numbering restarts at 0. */
  | {
      readonly kind: 'requests'
      readonly forget: boolean
      readonly texts: readonly string[]
      readonly requests: WireRequests
    }
  | { readonly kind: 'reclaim'; readonly pages: number }
  | { readonly kind: 'purge'; readonly goesOn: boolean }
  | { readonly kind: 'sweep'; readonly holes: readonly SpoolPlace[] }
  | { readonly kind: 'stop' }

/** `request` is its place among all requests that this answer settles. */
interface WireFailure {
  readonly request: number
  readonly kind: 'missed' | 'constraint' | 'fault' | 'lost' | 'bug'
  readonly code: string
  readonly message: string
}

export type FromWriter =
  | { readonly kind: 'opened' }
  | {
      readonly kind: 'settled'
      readonly messages: number
      readonly failures: readonly WireFailure[]
      /** The bytes that were lent with these messages, in order. */
      readonly returned: readonly Uint8Array[]
      readonly commits: number
      /** The batch that this answer is about, or null if it was none. */
      readonly batch: WrittenBatch | null
    }
  | { readonly kind: 'foreign-commit' }
  | { readonly kind: 'cannot-open'; readonly failure: WireFailure }

const MAX_STATEMENT_TEXTS = 2000

/** The form of bytes that are moved. */
interface WirePieces {
  readonly pieces: readonly Uint8Array[]
}

/** The form of bytes that are lent. */
interface WireLoan {
  readonly lent: Uint8Array
}

/** The sender's numbers of statement texts. */
export class StatementNumbers {
  private readonly numbers = new Map<string, number>()
  private newTexts: string[] = []
  private forget = false

  numberOf(sql: string): number {
    const known = this.numbers.get(sql)
    if (known !== undefined) return known
    const number = this.numbers.size
    this.numbers.set(sql, number)
    this.newTexts.push(sql)
    return number
  }

  /** Returns what the receiver must learn before the next message. Call it once for each message. */
  takeUpdate(): { readonly forget: boolean; readonly texts: readonly string[] } {
    const update = { forget: this.forget, texts: this.newTexts }
    this.newTexts = []
    this.forget = this.numbers.size > MAX_STATEMENT_TEXTS
    if (this.forget) this.numbers.clear()
    return update
  }
}

/** Requests that are gathered for the next message. */
export class WireGathering {
  private shape: number[] = []
  private values: unknown[] = []
  /** Memory to be transferred with the message. */
  private transfer = new Set<ArrayBuffer>()

  /** Returns what the request lends, in its order. Throws, and adds nothing, if a value cannot be sent. */
  add(request: WriteRequest, numbers: StatementNumbers): readonly MessageBytes[] {
    const { shape, values } = this
    const transfer: ArrayBuffer[] = []
    const loans: MessageBytes[] = []
    const begin = { shape: shape.length, values: values.length }
    try {
      shape.push(request.length)
      for (const { sql, parameters, rows } of request) {
        shape.push(numbers.numberOf(sql), rows ?? -1, parameters.length)
        for (const value of parameters) {
          if (value instanceof MessageBytes && isLoan(value)) loans.push(value)
          values.push(toWireValue(value, transfer))
        }
      }
    } catch (error) {
      shape.length = begin.shape
      values.length = begin.values
      throw error
    }
    for (const memory of transfer) this.transfer.add(memory)
    return loans
  }

  /** Returns the requests so far and starts a new message. */
  take(): { readonly requests: WireRequests; readonly transfer: readonly ArrayBuffer[] } {
    const { shape, values, transfer } = this
    this.shape = []
    this.values = []
    this.transfer = new Set()
    return { requests: { shape, values }, transfer: [...transfer] }
  }
}

/** Memory that is gone is refused here: a message that names it would get lost on its way. */
function toWireValue(value: unknown, transfer: ArrayBuffer[]): unknown {
  if (!(value instanceof MessageBytes)) return toBindable(value)
  if (value.isGone) throw new TypeError('the memory of a parameter is gone')
  if (isLoan(value)) return toWireLoan(value.read(), transfer)
  if (value.way !== 'moved') return toBindable(value.read())
  return value.length < TRANSFER_FROM_BYTES ? joinPieces(value) : toWirePieces(value, transfer)
}

/** A copy of few bytes costs less. */
function isLoan({ way, length }: MessageBytes): boolean {
  return way === 'lent' && length >= TRANSFER_FROM_BYTES
}

function toWireLoan(bytes: Buffer, transfer: ArrayBuffer[]): WireLoan {
  if (bytes.buffer instanceof ArrayBuffer) transfer.push(bytes.buffer)
  return { lent: bytes }
}

/** A copy of few bytes costs less than an object for each piece. */
function joinPieces({ pieces, length }: MessageBytes): Uint8Array {
  const joined = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

function toWirePieces({ pieces }: MessageBytes, transfer: ArrayBuffer[]): WirePieces {
  return {
    pieces: pieces.map((piece) => {
      const { buffer } = piece
      if (!(buffer instanceof ArrayBuffer) || !isOwnMemory(piece)) return new Uint8Array(piece)
      transfer.push(buffer)
      return piece
    }),
  }
}

/** The memory is not a pool of Node.js, whose size depends on its version. */
function isOwnMemory(piece: Uint8Array): boolean {
  return piece.buffer.byteLength >= MOVE_FROM_BYTES || hasHeadroom(piece)
}

function isWireLoan(value: unknown): value is WireLoan {
  return typeof value === 'object' && value !== null && 'lent' in value
}

function isWirePieces(value: unknown): value is WirePieces {
  return typeof value === 'object' && value !== null && 'pieces' in value
}

/** A value that may be sent. A value that cannot be bound is refused here, where only its own request fails. */
function toBindable(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.byteLength === value.buffer.byteLength ? value : new Uint8Array(value)
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value
  throw new TypeError(`a parameter must be text, number, bytes or null, not ${typeof value}`)
}

export function fromWire({ shape, values }: WireRequests, texts: readonly string[]): WriteRequest[] {
  const requests: WriteRequest[] = []
  let from = 0
  for (let place = 0; place < shape.length; ) {
    const request: Write[] = []
    const end = place + 1 + (shape[place] ?? 0) * SHAPE_OF_WRITE
    for (place += 1; place < end; place += SHAPE_OF_WRITE) {
      const sql = texts[shape[place] ?? -1] ?? ''
      const rows = shape[place + 1] ?? -1
      const to = from + (shape[place + 2] ?? 0)
      const parameters = fromWireValues(values.slice(from, to))
      request.push(rows < 0 ? { sql, parameters } : { sql, parameters, rows })
      from = to
    }
    requests.push(request)
  }
  return requests
}

function fromWireValues(sent: readonly unknown[]): readonly unknown[] {
  return sent.some((value) => isWirePieces(value) || isWireLoan(value)) ? sent.map(fromWireValue) : sent
}

function fromWireValue(value: unknown): unknown {
  if (isWirePieces(value)) return MessageBytes.moved(value.pieces)
  return isWireLoan(value) ? value.lent : value
}

/** The bytes that were lent with the requests of a message, in their order. */
export function lentWith({ values }: WireRequests): readonly Uint8Array[] {
  return values.filter(isWireLoan).map(({ lent }) => lent)
}

export function failureToWire(error: Error, request: number): WireFailure {
  const { message } = error
  if (error instanceof WriteConflict) return { request, kind: 'missed', code: '', message }
  if (error instanceof ConstraintViolated) return { request, kind: 'constraint', code: '', message }
  if (error instanceof StorageFault) return { request, kind: 'fault', code: error.code, message }
  return { request, kind: error instanceof LostBytes ? 'lost' : 'bug', code: '', message }
}

export function failureFromWire({ kind, code, message }: WireFailure): Error {
  switch (kind) {
    case 'missed':
      return new WriteConflict(message)
    case 'constraint':
      return new ConstraintViolated(message)
    case 'fault':
      return new StorageFault(code, message)
    case 'lost':
      return new LostBytes(message)
    case 'bug':
      return new Error(message)
  }
}
