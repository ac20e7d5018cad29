/**
 * An SMTP server on loopback that replies from a script and keeps the messages that it accepts.
 *
 *     const sink = await openSink({ script: { rcpt: '550 5.1.1 no such user' } })
 *     await sink.until(() => sink.messages.length === 2)
 *     await sink.close()
 *
 * Each stage of the script is a reply (without its CRLF; it may have several lines), `hang` (never replies), `drop`
 * (closes), `reset` (sends RST), or a function that returns one of these, at once or later. A stage that the script
 * does not name is answered as by a friendly server. 421 closes the connection. Messages are kept byte for byte, dots
 * unstuffed.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Certificate } from '../certificates.js'
import { SinkSession } from './sink-session.js'

export type SinkAnswer = string | 'hang' | 'drop' | 'reset'

interface SinkCommand {
  /** The line as received; empty for the banner and the end of a message. */
  readonly line: string
  /** Number of connections before this one. */
  readonly connection: number
  /** Messages accepted on this connection so far. */
  readonly taken: number
}

export type SinkStage =
  | 'banner'
  | 'ehlo'
  | 'helo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'message'
  | 'rset'
  | 'quit'
export type SinkScript = Readonly<
  Partial<Record<SinkStage, SinkAnswer | ((question: SinkCommand) => SinkAnswer | Promise<SinkAnswer>)>>
>

export interface SinkOptions {
  readonly script?: SinkScript
  /** Keywords of the EHLO reply besides STARTTLS. */
  readonly extensions?: readonly string[]
  /** STARTTLS is offered when a certificate is given; `implicit`: TLS from the start. */
  readonly certificate?: Certificate
  readonly implicit?: boolean
  /** `garbage`: answers the handshake with noise; `tls1.0`: supports nothing newer. */
  readonly broken?: 'garbage' | 'tls1.0'
  readonly port?: number
  /** Default: 127.0.0.1. */
  readonly address?: string
}

export interface SinkMessage {
  /** As received: `<a@b.test> SIZE=12`. */
  readonly mailFrom: string
  readonly rcptTo: readonly string[]
  readonly raw: Buffer
  readonly tls: string | null
  /** Number of connections before the one that brought it. */
  readonly connection: number
}

export async function openSink(options: SinkOptions = {}): Promise<ScriptedSink> {
  const sink = new ScriptedSink(options)
  await sink.listen(options.port ?? 0)
  return sink
}

export class ScriptedSink {
  readonly messages: SinkMessage[] = []
  /** Command lines of all connections, in order. */
  readonly commands: string[] = []
  /** The address that each connection came from. */
  readonly peers: string[] = []
  /** Connections in total, open now, and the largest number open at once. */
  connections = 0
  open = 0
  mostOpen = 0
  /** Commands that arrived together with the one before them. */
  pipelined = 0
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private readonly waiting = new Set<() => void>()

  constructor(readonly options: SinkOptions) {
    this.server = createServer({ noDelay: true }, (socket) => this.accept(socket))
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  async listen(port: number): Promise<void> {
    this.server.listen(port, this.options.address ?? '127.0.0.1')
    await once(this.server, 'listening')
  }

  /** Resolves once `condition` holds; it is checked at every event. */
  async waitUntil(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.waiting.add(resolve))
  }

  notifyWaiters(): void {
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const resolve of waiting) resolve()
  }

  /** Closes every connection and the port. */
  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    if (!this.server.listening) return
    this.server.close()
    await once(this.server, 'close')
  }

  /** Closes the connections and keeps listening. */
  hangUp(): void {
    for (const socket of this.sockets) socket.end()
  }

  /** Sends `line` on every connection. */
  broadcast(line: string): void {
    for (const socket of this.sockets) socket.write(`${line}\r\n`)
  }

  private accept(socket: Socket): void {
    const session = new SinkSession(this, socket, this.connections++)
    this.sockets.add(socket)
    this.peers.push(socket.remoteAddress ?? '')
    this.open++
    this.mostOpen = Math.max(this.mostOpen, this.open)
    socket.on('close', () => {
      this.sockets.delete(socket)
      this.open--
      this.notifyWaiters()
    })
    this.notifyWaiters()
    void session.begin()
  }
}
