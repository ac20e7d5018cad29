/**
 * An SMTP server on loopback that answers from a script and keeps what it takes.
 *
 *     const sink = await openSink({ script: { rcpt: '550 5.1.1 no such user' } })
 *     …
 *     await sink.until(() => sink.messages.length === 2)
 *     await sink.close()
 *
 * Each stage of the script is a reply (without its CRLF; it may hold several lines), `hang`
 * (never answers), `drop` (closes), `reset` (sends RST), or a function that gives one of
 * these, at once or later. What the script does not mention is answered as a friendly server
 * would. 421 closes the connection. Messages are kept byte for byte, dots unstuffed.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Certificate } from '../certificates.js'
import { SinkSession } from './sink-session.js'

export type SinkAnswer = string | 'hang' | 'drop' | 'reset'

export interface SinkCommand {
  /** The line as it came; empty for the banner and the end of a message. */
  readonly line: string
  /** Connections before this one. */
  readonly connection: number
  /** Messages taken on this connection so far. */
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
  /** `garbage`: answers the handshake with noise; `tls1.0`: speaks nothing newer. */
  readonly broken?: 'garbage' | 'tls1.0'
  readonly port?: number
}

export interface SinkMessage {
  /** As it came: `<a@b.test> SIZE=12`. */
  readonly mailFrom: string
  readonly rcptTo: readonly string[]
  readonly raw: Buffer
  readonly tls: string | null
  /** Connections before the one that brought it. */
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
  /** Connections that were made, that are open, that were open at once at the most. */
  connections = 0
  open = 0
  mostOpen = 0
  /** Commands that came together with the one before them. */
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
    this.server.listen(port, '127.0.0.1')
    await once(this.server, 'listening')
  }

  /** Resolves once `condition` holds; it is looked at whenever something happens here. */
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

  /** Says `line` on every connection, asked or not. */
  broadcast(line: string): void {
    for (const socket of this.sockets) socket.write(`${line}\r\n`)
  }

  private accept(socket: Socket): void {
    const session = new SinkSession(this, socket, this.connections++)
    this.sockets.add(socket)
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
