/** Sends requests to the server with the key, and repeats those that failed for a while. */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type PosthornError, readRefusal, toConnectionError } from './posthorn-error.js'
import { type RetryOptions, RetryPolicy, readRetryAfter } from './retry-policy.js'

export interface ConnectionOptions extends RetryOptions {
  /** Where the API is, such as `https://mx.example.com:8443`. */
  readonly url: string
  /** An API key. */
  readonly key: string
  /** Milliseconds for each attempt. Default 120,000. */
  readonly timeout?: number
  /** Replaces the `fetch` of the program, for example to trust a certificate. */
  readonly fetch?: typeof fetch
}

export interface RequestOptions {
  /** Ends the request and its repetitions. */
  readonly signal?: AbortSignal
  /** For the routes that send: the same key sends once. Without it the client makes one for each call. */
  readonly idempotencyKey?: string
}

export interface PlainRequest extends RequestOptions {
  readonly method: string
  /** The path has its values, such as `/v1/emails/4711`. */
  readonly path: string
  readonly query?: Readonly<Record<string, unknown>>
  /** JSON, a form with a file, or with `contentType` bytes. */
  readonly body?: unknown
  readonly contentType?: string
}

/** Routes that read `Idempotency-Key`. */
const SENDING_PATHS: ReadonlySet<string> = new Set(['/v1/emails', '/v1/emails/batch'])

export class Connection {
  private readonly policy: RetryPolicy

  constructor(private readonly options: ConnectionOptions) {
    this.policy = new RetryPolicy(options)
  }

  /** Returns JSON as a value, other bodies as bytes, and undefined if there is none. Throws a PosthornError. */
  async request(request: PlainRequest): Promise<unknown> {
    const { method, path, query = {} } = request
    const url = new URL(path.replace(/^\//, ''), `${this.options.url.replace(/\/$/, '')}/`)
    for (const [name, value] of Object.entries(query)) appendValues(url.searchParams, name, value)
    const sends = method === 'POST' && SENDING_PATHS.has(path)
    const isRepeatable = method !== 'POST' || sends
    const init = this.buildInit(request, sends)
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.attempt(url, init, request.signal)
      if (!(outcome instanceof Failure)) return outcome
      const pause = this.policy.pauseAfter(outcome.error, attempt, isRepeatable, outcome.retryAfter)
      if (pause === null) throw outcome.error
      await wait(pause, undefined, request.signal === undefined ? {} : { signal: request.signal })
    }
  }

  /** Every attempt has the same bytes and the same idempotency key: the server compares both. */
  private buildInit({ method, body, contentType, idempotencyKey }: PlainRequest, sends: boolean): RequestInit {
    const headers = new Headers({ Authorization: `Bearer ${this.options.key}`, Accept: 'application/json, */*' })
    if (sends) headers.set('Idempotency-Key', idempotencyKey ?? randomUUID())
    if (body === undefined) return { method, headers, redirect: 'manual' }
    if (body instanceof FormData) return { method, headers, body, redirect: 'manual' }
    headers.set('Content-Type', contentType ?? 'application/json')
    const bytes = body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
    return { method, headers, body: bytes, redirect: 'manual' }
  }

  private async attempt(url: URL, init: RequestInit, signal: AbortSignal | undefined): Promise<unknown> {
    const limit = AbortSignal.timeout(this.options.timeout ?? 120_000)
    try {
      const send = this.options.fetch ?? fetch
      const response = await send(url, { ...init, signal: AbortSignal.any([limit, ...(signal ? [signal] : [])]) })
      if (response.ok) return await readAnswer(response)
      const retryAfter = readRetryAfter(response.headers.get('retry-after'), Date.now())
      return new Failure(await readRefusal(response), retryAfter)
    } catch (error) {
      // The caller has ended the request: no failure of the connection.
      signal?.throwIfAborted()
      return new Failure(toConnectionError(url, error), null)
    }
  }
}

class Failure {
  constructor(
    readonly error: PosthornError,
    readonly retryAfter: number | null,
  ) {}
}

async function readAnswer(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  if (/^application\/json\b/.test(response.headers.get('content-type') ?? '')) return response.json()
  return new Uint8Array(await response.arrayBuffer())
}

function appendValues(to: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined || value === null) return
  for (const each of Array.isArray(value) ? value : [value]) to.append(name, String(each))
}
