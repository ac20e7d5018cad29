/**
 * A raw SMTP client for tests: sends exactly the bytes it is given, reads complete replies.
 *
 * A reply is its lines joined by a line feed, without line ends; a connection that the server has closed reads as
 * `closed`. Nothing is sent, answered or corrected on its own.
 */
import { connect, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'

export interface Dialogue {
  /** The next reply. */
  readReply(): Promise<string>
  /** The next `count` replies. */
  readReplies(count: number): Promise<readonly string[]>
  /** Sends a line and returns the reply to it. */
  sendCommand(line: string): Promise<string>
  /** Sends bytes as they are; resolves when they are handed to the system. */
  send(bytes: string | Buffer): Promise<void>
  /** The TLS handshake, after the 220 to STARTTLS. */
  startTls(): Promise<void>
  /** Resolves when the connection is closed. */
  waitForClose(): Promise<void>
  /** Ends our side. */
  end(): void
  /** Aborts the connection: with a reset, or inside TLS without a close_notify. */
  reset(): void
}

export interface DialOptions {
  readonly host?: string
  readonly tls?: boolean
  readonly localAddress?: string
}

export async function dial(
  port: number,
  { host = '127.0.0.1', tls = false, localAddress }: DialOptions = {},
): Promise<Dialogue> {
  const at = { host, port, noDelay: true, ...(localAddress === undefined ? {} : { localAddress }) }
  const socket = tls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at)
  await new Promise<void>((resolve, reject) => {
    socket.once(tls ? 'secureConnect' : 'connect', resolve)
    socket.once('error', reject)
  })
  return dialogue(socket)
}

function dialogue(first: Socket | TLSSocket): Dialogue {
  let socket = first
  let text = ''
  let over = false
  let wake: () => void = () => undefined

  function listen(): void {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      wake()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      over = true
      wake()
    })
  }

  async function reply(): Promise<string> {
    for (;;) {
      const end = endOfReply(text)
      if (end > 0) {
        const lines = text.slice(0, end)
        text = text.slice(end)
        return lines.slice(0, -2).replaceAll('\r\n', '\n')
      }
      if (over) return text === '' ? 'closed' : `closed amid ${text}`
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  function send(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => {
      socket.write(bytes, () => resolve())
    })
  }

  listen()
  return {
    readReply: reply,
    send,
    async readReplies(count) {
      const all: string[] = []
      while (all.length < count) all.push(await reply())
      return all
    },
    async sendCommand(line) {
      await send(`${line}\r\n`)
      return reply()
    },
    async startTls() {
      socket.removeAllListeners()
      const secured = connectTls({ socket, rejectUnauthorized: false })
      socket = secured
      await new Promise<void>((resolve, reject) => {
        secured.once('secureConnect', resolve)
        secured.once('error', reject)
      })
      listen()
    },
    waitForClose() {
      return new Promise((resolve) => {
        if (over) resolve()
        else socket.once('close', () => resolve())
      })
    },
    end: () => socket.end(),
    reset: () => (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy()),
  }
}

/** Offset after the last line of the first reply; 0: it is incomplete. */
function endOfReply(text: string): number {
  for (let at = 0; ; ) {
    const end = text.indexOf('\r\n', at)
    if (end === -1) return 0
    if (text[at + 3] !== '-') return end + 2
    at = end + 2
  }
}
