/**
 * A client for requests over HTTP/1.1, on undici: connections are kept, redirects are not followed, TLS
 * certificates are verified.
 *
 * The time limit covers all of a request: the wait for a connection, TLS, sending, and the complete answer. Credentials
 * in a URL are sent as Basic authentication and appear in no error.
 *
 * undici is loaded with the first client: it takes 54 to 100 ms, so a client is made at the start or on a thread.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import type { Dispatcher, Pool } from 'undici'
import { createLruCache } from '../lru-cache.js'
import { HttpFault, toHttpFault } from './http-fault.js'

interface HttpClientSettings {
  /** Connections to one server; further requests wait. */
  readonly maxConnections: number
  /** Bytes of an answer that are kept. */
  readonly maxBodyBytes: number
  /** Bytes beyond those that are read and dropped before the connection is closed. */
  readonly maxDroppedBytes: number
  /** PEM certificates that are trusted instead of the system's. */
  readonly authorities?: string | undefined
}

interface HttpRequest {
  /** `http:` or `https:`. */
  readonly url: URL
  /** Values are latin1 and are sent byte for byte. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Null if there is none. */
  readonly body: Buffer | string | null
  /** Milliseconds. */
  readonly timeout: number
  /** The only addresses that are dialled. If it is absent, the system resolves the host. */
  readonly addresses?: readonly string[]
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** False if the answer had more than `maxBodyBytes`. */
  readonly isComplete: boolean
}

export type HttpMethod = 'GET' | 'HEAD' | 'POST'

export interface HttpClient {
  /** Rejects with HttpFault if there is no answer. */
  readonly send: (method: HttpMethod, request: HttpRequest) => Promise<HttpAnswer>
  /** `send` with the method POST. */
  readonly post: (request: HttpRequest) => Promise<HttpAnswer>
  /** Ends all requests and connections. */
  readonly close: () => Promise<void>
}

/** Servers whose connections are kept; those of the one used least recently are closed after their requests. */
const MAX_SERVERS = 200
/** Addresses of one host that are tried in turn. */
const MAX_ADDRESSES = 6
/** Milliseconds for each address but the last. */
const ADDRESS_TIMEOUT = 1_000
/** Milliseconds that an idle connection is kept at most, whatever longer time the server offers. */
const MAX_IDLE = 30_000
/** Answers of status 1xx before the final one. */
const MAX_INTERIM = 10

export async function createHttpClient(settings: HttpClientSettings): Promise<HttpClient> {
  const undici = await import('undici')
  const pools = createLruCache<Pool>({ max: MAX_SERVERS, onRemove: (pool) => void pool.close().catch(() => undefined) })
  const findPool = ({ url, addresses, timeout }: HttpRequest): Pool => {
    // The addresses are in the key, so a kept connection leads to one that was judged for this request.
    const key = `${url.origin} ${addresses?.toSorted().join() ?? ''}`
    const open = pools.get(key)
    if (open !== undefined) return open
    const pool = new undici.Pool(url.origin, {
      connections: settings.maxConnections,
      connectTimeout: timeout,
      // The limit of the request counts, not those of its parts.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveMaxTimeout: MAX_IDLE,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT,
      connect: {
        rejectUnauthorized: true,
        ca: settings.authorities,
        ...(addresses === undefined ? {} : { lookup: pinTo(addresses) }),
      },
    })
    pools.set(key, pool)
    return pool
  }
  const send: HttpClient['send'] = (method, request) => runRequest(findPool(request), method, request, settings)
  return {
    send,
    post: (request) => send('POST', request),
    close: async () => {
      const open = [...pools.values()]
      await Promise.all(open.map((pool) => pool.destroy()))
    },
  }
}

function pinTo(addresses: readonly string[]): LookupFunction {
  const known = addresses.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: isIP(address) }))
  return (_name, { all }, callback) => {
    const [first] = known
    if (first === undefined) callback(new Error('no address may be dialled'), '')
    else if (all) callback(null, known)
    else callback(null, first.address, first.family)
  }
}

function runRequest(
  pool: Pool,
  method: HttpMethod,
  request: HttpRequest,
  settings: HttpClientSettings,
): Promise<HttpAnswer> {
  const { timeout } = request
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(settings, (outcome) => {
      clearTimeout(timer)
      if (outcome instanceof HttpFault) reject(outcome)
      else resolve(outcome)
    })
    const timer = setTimeout(() => exchange.cancel(new HttpFault(`no answer within ${timeout / 1000} s`)), timeout)
    try {
      pool.dispatch(dispatchOptionsOf(method, request), exchange)
    } catch (error) {
      exchange.cancel(error)
    }
  })
}

function dispatchOptionsOf(method: HttpMethod, { url, headers, body }: HttpRequest): Dispatcher.DispatchOptions {
  const { username, password, pathname, search } = url
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization = login === ':' ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` }
  const fields: HttpRequest['headers'] = { ...authorization, ...headers }
  return {
    method,
    path: `${pathname}${search}`,
    headers: Object.entries(fields).flatMap(([name, value]) =>
      typeof value === 'string' ? [name, value] : value.flatMap((each) => [name, each]),
    ),
    body,
  }
}

/** One request and its answer, as undici reports them. */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly chunks: Buffer[] = []
  private status = 0
  private headers: IncomingHttpHeaders = {}
  private size = 0
  private interim = 0
  private isEnded = false
  private controller: Dispatcher.DispatchController | null = null

  constructor(
    private readonly limits: HttpClientSettings,
    private readonly end: (outcome: HttpAnswer | HttpFault) => void,
  ) {}

  /** A request that waits for a connection is dropped when it gets one. */
  cancel(error: unknown): void {
    const fault = this.toFault(error)
    this.finish(fault)
    this.controller?.abort(fault)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isEnded) controller.abort(new HttpFault('the request was given up'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status
    this.headers = headers
    if (status < 200) this.interim += 1
    if (this.interim > MAX_INTERIM) controller.abort(new HttpFault(`more than ${MAX_INTERIM} answers of status 1xx`))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBodyBytes, maxDroppedBytes } = this.limits
    const room = maxBodyBytes - this.size
    if (room > 0) this.chunks.push(Buffer.from(chunk.subarray(0, room)))
    this.size += chunk.length
    if (this.size <= maxBodyBytes + maxDroppedBytes) return
    this.finishAnswer()
    controller.abort(new HttpFault('the answer is too large'))
  }

  onResponseEnd(): void {
    this.finishAnswer()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.finish(this.toFault(error))
  }

  /** undici reports the start of a request when it has a connection, before it writes. */
  private toFault(error: unknown): HttpFault {
    return toHttpFault(error, this.controller !== null)
  }

  private finishAnswer(): void {
    const isComplete = this.size <= this.limits.maxBodyBytes
    this.finish({ status: this.status, headers: this.headers, body: Buffer.concat(this.chunks), isComplete })
  }

  private finish(outcome: HttpAnswer | HttpFault): void {
    if (this.isEnded) return
    this.isEnded = true
    this.end(outcome)
  }
}
