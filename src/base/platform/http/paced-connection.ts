/**
 * A connection of an HTTP/1.1 server, between its socket and the parser of Node.js. It gives the parser one request at
 * a time, and reads on when that one is answered.
 *
 * Otherwise the parser would take all requests of a chunk at once: 64 KB hold 3,600 of the smallest, which stop the
 * process for 100 ms or more and are all under way then. The bytes that wait are at most one chunk: the socket is
 * paused while they wait, so TCP holds the client back.
 *
 * Only the parser knows where a request ends. It gets the bytes up to the end of the first header, and, if the body has
 * a length, the bytes after them that surely belong to the body. The few further requests that a piece can have
 * nevertheless wait in memory: those of a chunked body's last piece.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** Bytes of one piece that may begin a request, and of one that surely begins no second. */
const MAX_HEAD = 1_024
const MAX_SINGLE = 4_096
/** Milliseconds for the pieces of one turn of the event loop. A chunk may hold thousands of parts of a chunked body. */
const TURN = 3
/** After so many bytes the socket rests for a turn. The system may hold megabytes, which it gives in one turn. */
const REST_AFTER = 262_144
const BLANK_LINE = '\r\n\r\n'

/**
 * Makes the listener to create an HTTP server with. Call `paceConnections` before you add other listeners of its event.
 */
export function answerInTurn(answer: RequestListener): RequestListener {
  return (request, response) => {
    const connection = pacedConnectionOf(request.socket)
    if (connection === null) answer(request, response)
    else connection.begin(request, response, () => answer(request, response))
  }
}

/** Gives the server's own listeners of `event` a paced connection instead of the socket. */
export function paceConnections(server: Server, event: 'connection' | 'secureConnection'): void {
  const listeners = server.listeners(event)
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) => {
    const paced = new PacedConnection(socket)
    for (const listen of listeners) listen.call(server, paced)
  })
}

/** The socket that sends and receives. It is that of a paced connection, or the given one. */
export function socketOf(stream: Duplex): Duplex {
  return pacedConnectionOf(stream)?.socket ?? stream
}

/** Node.js declares the connection of a request to be a socket, whatever stream the server was given. */
function pacedConnectionOf(stream: Duplex): PacedConnection | null {
  return stream instanceof PacedConnection ? stream : null
}

class PacedConnection extends Duplex {
  /** Received, and not given to the parser yet. */
  private held: Buffer | null = null
  /** Counted since the socket rested. */
  private receivedBytes = 0
  private hasEnded = false
  /** The stream that the parser reads takes more. */
  private hasRoom = false
  private isFeeding = false
  /** The bytes of the latest request that are surely of its body, and not given to the parser yet. */
  private bodyLeft = 0
  /** Bytes of the piece that the parser is reading. */
  private pieceLength = 0
  private latest: IncomingMessage | null = null
  private isAnswering = false
  /** Parsed, to be answered after the one under way. */
  private waiting: (() => void)[] = []
  private nextTurn: NodeJS.Immediate | null = null

  constructor(readonly socket: Socket) {
    super({ allowHalfOpen: true, decodeStrings: false, readableHighWaterMark: socket.readableHighWaterMark })
    socket.on('data', (chunk: Buffer) => this.receive(chunk))
    socket.once('end', () => {
      this.hasEnded = true
      this.feed()
    })
    socket.once('close', () => this.destroy())
    socket.on('error', (error) => this.destroy(error))
    socket.on('timeout', () => this.emit('timeout'))
  }

  /** A request was parsed. `run` is called when those before it are answered. */
  begin(request: IncomingMessage, response: ServerResponse, run: () => void): void {
    this.latest = request
    const length = Number(request.headers['content-length'] ?? 0)
    this.bodyLeft = Math.max(0, length - this.pieceLength)
    response.once('close', () => this.endAnswer())
    if (this.isAnswering) this.waiting.push(run)
    else {
      this.isAnswering = true
      run()
    }
  }

  get remoteAddress(): string | undefined {
    return this.socket.remoteAddress
  }

  /** Works as that of a socket, which tells of it by the event `timeout`. */
  setTimeout(milliseconds: number): this {
    this.socket.setTimeout(milliseconds)
    return this
  }

  override _read(): void {
    this.hasRoom = true
    if (this.isFeeding) return
    if (this.held !== null || this.hasEnded) this.takeTurnLater()
    else this.resumeSocket()
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.socket.write(chunk, encoding, callback)
  }

  override _writev(
    chunks: { readonly chunk: string | Buffer; readonly encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    this.socket.cork()
    chunks.forEach(({ chunk, encoding }, place) => {
      if (place === chunks.length - 1) this.socket.write(chunk, encoding, callback)
      else this.socket.write(chunk, encoding)
    })
    this.socket.uncork()
  }

  override _final(callback: () => void): void {
    this.socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (this.nextTurn !== null) clearImmediate(this.nextTurn)
    this.held = null
    this.waiting = []
    this.socket.destroy()
    callback(error)
  }

  private receive(chunk: Buffer): void {
    this.held = this.held === null ? chunk : Buffer.concat([this.held, chunk])
    this.feed()
    this.receivedBytes += chunk.length
    if (this.receivedBytes >= REST_AFTER) this.takeTurnLater()
    if (this.held !== null || !this.hasRoom || this.receivedBytes >= REST_AFTER) this.socket.pause()
  }

  private feed(): void {
    if (this.isFeeding || this.nextTurn !== null) return
    this.isFeeding = true
    const endsAt = performance.now() + TURN
    while (this.held !== null && this.hasRoom && !this.mustWait()) {
      if (performance.now() > endsAt) {
        this.takeTurnLater()
        break
      }
      const piece = this.takePiece(this.held)
      this.hasRoom = this.push(piece)
    }
    this.isFeeding = false
    if (this.held !== null || this.mustWait() || this.destroyed) return
    if (this.hasEnded) this.push(null)
    else if (this.hasRoom) this.resumeSocket()
  }

  /** Resumes the socket unless it rests. */
  private resumeSocket(): void {
    if (this.nextTurn === null && this.socket.isPaused()) this.socket.resume()
  }

  /** True if the bytes must wait for an answer. A request gets the rest of its body in any case. */
  private mustWait(): boolean {
    return this.isAnswering && this.latest?.complete === true
  }

  private takePiece(held: Buffer): Buffer {
    const length = Math.min(held.length, this.bodyLeft > 0 ? this.bodyLeft : headLengthOf(held))
    this.bodyLeft = Math.max(0, this.bodyLeft - length)
    this.pieceLength = length
    this.held = length === held.length ? null : held.subarray(length)
    return this.held === null ? held : held.subarray(0, length)
  }

  /**
   * Waiting bytes are read in the next turn of the event loop: a client with requests that are answered at once leaves
   * time for others.
   */
  private endAnswer(): void {
    this.isAnswering = false
    if (this.waiting.length > 0 || this.held !== null || this.hasEnded) this.takeTurnLater()
    else if (this.hasRoom) this.resumeSocket()
  }

  private takeTurnLater(): void {
    if (this.nextTurn !== null || this.destroyed) return
    this.nextTurn = setImmediate(() => {
      this.nextTurn = null
      this.receivedBytes = 0
      const run = this.isAnswering ? undefined : this.waiting.shift()
      if (run !== undefined) {
        this.isAnswering = true
        run()
      }
      this.feed()
    })
  }
}

/** Counts the bytes up to the first blank line, which ends a header, or all of them if there is no second one. */
function headLengthOf(held: Buffer): number {
  const end = held.subarray(0, MAX_SINGLE).indexOf(BLANK_LINE, 0, 'latin1')
  if (end !== -1 && held.length <= MAX_SINGLE && held.indexOf(BLANK_LINE, end + 1, 'latin1') === -1) return held.length
  return end === -1 ? MAX_HEAD : Math.min(MAX_HEAD, end + BLANK_LINE.length)
}
