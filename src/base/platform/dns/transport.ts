/**
 * Sends one message to one DNS server and awaits the reply, over UDP or TCP (RFC 1035, RFC 7766).
 *
 * Each query has its own socket, with a random port, connected to the server: the kernel drops datagrams of others, and
 * a forger must guess port and id again for each query. A kept socket would save 0.01 ms of a query's 0.02, but its
 * port could be discovered. Unacceptable replies are ignored until the timeout. A socket is closed with its query.
 */
import { createSocket, type SocketOptions } from 'node:dgram'
import { connect, isIP, isIPv6 } from 'node:net'

export interface DnsServer {
  /** An IP address. */
  readonly address: string
  readonly port: number
}

/** Reads `192.0.2.53`, `192.0.2.53:5353`, `2001:db8::53` and `[2001:db8::53]:5353`. Null for anything else. */
export function parseDnsServer(text: string): DnsServer | null {
  if (isIP(text) !== 0) return { address: text, port: 53 }
  const { v6, v4 = '', digits } = /^(?:\[(?<v6>[^\]]+)\]|(?<v4>[\d.]+)):(?<digits>\d{1,5})$/.exec(text)?.groups ?? {}
  const [address, family] = v6 === undefined ? [v4, 4] : [v6, 6]
  const port = Number(digits)
  return isIP(address) === family && port >= 1 && port <= 65_535 ? { address, port } : null
}

/** Writes what `parseDnsServer` reads. The usual port is left out. */
export function formatDnsServer({ address, port }: DnsServer): string {
  if (port === 53) return address
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
}

/** `fault` is a code such as `TIMEOUT` or `CONNREFUSED`. */
export type ExchangeResult = { readonly reply: Buffer } | { readonly fault: string }

export interface ExchangeOptions {
  /** Milliseconds. */
  readonly timeout: number
  readonly accepts: (reply: Buffer) => boolean
}

type Settle = (outcome: ExchangeResult) => void
/** Returns how to end the exchange. */
type BeginExchange = (settle: Settle) => () => void

export class DnsTransport {
  private readonly pendingExchanges = new Set<() => void>()
  private cancelled = false

  overUdp(server: DnsServer, query: Buffer, { timeout, accepts }: ExchangeOptions): Promise<ExchangeResult> {
    return this.runWithTimeout(timeout, (settle) => beginUdp(server, query, accepts, settle))
  }

  overTcp(server: DnsServer, query: Buffer, { timeout, accepts }: ExchangeOptions): Promise<ExchangeResult> {
    return this.runWithTimeout(timeout, (settle) => beginTcp(server, query, accepts, settle))
  }

  /** All queries under way, and all later ones, end as `CANCELLED`. */
  cancel(): void {
    this.cancelled = true
    for (const cancel of [...this.pendingExchanges]) cancel()
  }

  private runWithTimeout(timeout: number, begin: BeginExchange): Promise<ExchangeResult> {
    if (this.cancelled) return Promise.resolve({ fault: 'CANCELLED' })
    const pending = this.pendingExchanges
    return new Promise((resolve) => {
      const exchange: { end?: () => void } = {}
      const settle: Settle = (outcome) => {
        if (!pending.delete(cancel)) return
        clearTimeout(timer)
        exchange.end?.()
        resolve(outcome)
      }
      const cancel = (): void => settle({ fault: 'CANCELLED' })
      const timer = setTimeout(settle, timeout, { fault: 'TIMEOUT' })
      pending.add(cancel)
      try {
        exchange.end = begin(settle)
        if (!pending.has(cancel)) exchange.end()
      } catch (error) {
        // The system provides no socket.
        settle({ fault: faultOf(error) })
      }
    })
  }
}

/** Servers are addresses; by default Node.js would pass them to the system's resolver. */
const lookup: SocketOptions['lookup'] = (address, _options, done) => done(null, address, isIPv6(address) ? 6 : 4)

type Accepts = ExchangeOptions['accepts']

function beginUdp({ address, port }: DnsServer, query: Buffer, accepts: Accepts, settle: Settle): () => void {
  const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', lookup })
  let open = true
  socket.on('error', (error) => settle({ fault: faultOf(error) }))
  socket.on('message', (reply) => {
    if (accepts(reply)) settle({ reply })
  })
  socket.on('connect', () => {
    if (open) socket.send(query, (error) => error !== null && settle({ fault: faultOf(error) }))
  })
  socket.connect(port, address)
  return () => {
    if (open) socket.close()
    open = false
  }
}

const MAX_MESSAGE_OCTETS = 0xffff

function beginTcp({ address, port }: DnsServer, query: Buffer, accepts: Accepts, settle: Settle): () => void {
  const socket = connect({ host: address, port, noDelay: true })
  // It has two octets of length and the longest message, so the server cannot make us allocate more.
  const received = Buffer.allocUnsafe(2 + MAX_MESSAGE_OCTETS)
  let size = 0
  socket.on('connect', () => socket.write(withLengthPrefix(query)))
  socket.on('data', (chunk) => {
    size += chunk.copy(received, size)
    const end = size < 2 ? MAX_MESSAGE_OCTETS : 2 + received.readUInt16BE(0)
    if (size < end) return
    const reply = received.subarray(2, end)
    settle(accepts(reply) ? { reply } : { fault: 'BADRESP' })
  })
  socket.on('error', (error) => settle({ fault: faultOf(error) }))
  socket.on('close', () => settle({ fault: 'EOF' }))
  return () => socket.destroy()
}

function withLengthPrefix(query: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(query.length)
  return Buffer.concat([length, query])
}

function faultOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.replace(/^E/, '') || 'FAILED'
}
