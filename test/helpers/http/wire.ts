/** A connection to an HTTP server on which a test sends any bytes and reads complete answers. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type SecureVersion } from 'node:tls'
import type { Test } from 'tap'

export interface WireAnswer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Wire {
  readonly socket: Socket
  readonly send: (data: string | Buffer) => void
  /** The next complete answer; rejects when the connection ends before. `head`: it has no body whatever it says. */
  readonly answer: (head?: 'head') => Promise<WireAnswer>
  /** Resolves when the other side has closed, in any way. */
  readonly closed: Promise<void>
}

export interface WireAddress {
  readonly port?: number
  readonly path?: string
  /** Trusted certificate; absent: no TLS. */
  readonly ca?: string
  readonly maxVersion?: SecureVersion
}

/** Resolves once connected, TLS included. */
export async function openWire(t: Pick<Test, 'teardown'>, { port, path, ca, maxVersion }: WireAddress): Promise<Wire> {
  const where = path === undefined ? { host: '127.0.0.1', port: port ?? 0 } : { path }
  const socket =
    ca === undefined
      ? connect(where)
      : connectTls({ ...where, ca, servername: 'localhost', ...(maxVersion === undefined ? {} : { maxVersion }) })
  t.teardown(() => socket.destroy())
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const reader = new AnswerReader(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once(ca === undefined ? 'connect' : 'secureConnect', () => resolve())
    socket.once('error', reject)
  })
  socket.on('error', () => undefined)
  return { socket, send: (data) => socket.write(data), answer: (head) => reader.next(head === 'head'), closed }
}

class AnswerReader {
  private received = Buffer.alloc(0)
  /** Received later; joined when there is enough of it. */
  private more: Buffer[] = []
  private size = 0
  /** Bytes before which there is no complete answer. */
  private needed = 0
  private ended = false
  private look: () => void = () => undefined

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.more.push(chunk)
      this.size += chunk.length
      if (this.size >= this.needed) this.look()
    })
    socket.on('close', () => {
      this.ended = true
      this.look()
    })
  }

  next(head: boolean): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      this.look = () => {
        const found = this.take(head)
        if (found !== null) resolve(found)
        else if (this.ended) reject(new Error(`the connection ended after ${JSON.stringify(String(this.received))}`))
      }
      this.look()
    })
  }

  private take(head: boolean): WireAnswer | null {
    this.received = Buffer.concat([this.received, ...this.more.splice(0)])
    const end = this.received.indexOf('\r\n\r\n')
    if (end === -1) return null
    const [line = '', ...fields] = this.received.toString('latin1', 0, end).split('\r\n')
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    )
    const length = head ? 0 : Number(headers['content-length'] ?? 0)
    const start = end + 4
    this.needed = start + length
    if (this.received.length < this.needed) return null
    const body = this.received.toString('utf8', start, start + length)
    this.received = this.received.subarray(start + length)
    this.size = this.received.length
    this.needed = 0
    return { status: Number(line.split(' ')[1]), headers, body }
  }
}
