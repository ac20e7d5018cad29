/**
 * Makes one request over HTTP/1.1 on a new connection: GET for a small file or the field Date of the answer, POST for a
 * report. Redirects are not followed, TLS certificates are verified, and only the given addresses are dialled.
 *
 * It uses Node.js alone: for requests as rare as these, undici (`http-client.ts`) would take 8 MB all the time.
 */
import type { IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'

interface RequestOptions {
  /** The addresses of the URL's host. */
  readonly addresses: readonly string[]
  /** Milliseconds for everything. */
  readonly timeout: number
  /** Bytes of the body; a longer one is cut. */
  readonly maxBytes: number
  /** Ends the request. */
  readonly signal?: AbortSignal
  /** PEM certificates that are trusted instead of the system's. */
  readonly authorities?: string | undefined
  /**
   * Limits the connections to a host; requests that wait for one do so within their timeout. If it is absent, there is
   * no limit.
   */
  readonly agent?: Agent
}

interface Answer {
  readonly status: number
  /** The field Date, in epoch milliseconds, or null if there is none. */
  readonly date: number | null
  /** The field Content-Type, or empty if there is none. */
  readonly contentType: string
  readonly body: string
}

interface Content {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** `https:` alone. Rejects if there is no answer. */
export function getOverHttps(url: URL, options: RequestOptions): Promise<Answer> {
  return send(url, options, null)
}

/** `https:` alone. Rejects if there is no answer. */
export function postOverHttps(url: URL, options: RequestOptions, content: Content): Promise<Answer> {
  return send(url, options, content)
}

/** `content` is the body of a POST request. It is null for a GET request. */
function send(url: URL, options: RequestOptions, content: Content | null): Promise<Answer> {
  const { addresses, timeout, maxBytes, authorities } = options
  const how = content === null ? {} : { method: 'POST', headers: content.headers }
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.timeout(timeout)
    const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal])
    const sent = request(url, {
      ...how,
      agent: options.agent ?? false,
      signal,
      ca: authorities,
      lookup: pinTo(addresses),
    })
    const fail = (error: Error): void =>
      reject(limit.aborted ? new Error(`no answer within ${timeout / 1_000} s`) : error)
    sent.on('error', fail)
    sent.on('upgrade', (_answer, socket) => {
      socket.destroy()
      fail(new Error('the server wants another protocol'))
    })
    // A connection may end without an error.
    signal.addEventListener('abort', () => fail(new Error('the request was ended')), { once: true })
    sent.on('response', (response) => {
      readBody(response, maxBytes).then((body) => resolve(answerOf(response, body)), reject)
    })
    sent.end(content?.body)
  })
}

function answerOf({ statusCode, headers }: IncomingMessage, body: string): Answer {
  return { status: statusCode ?? 0, date: readDate(headers.date), contentType: headers['content-type'] ?? '', body }
}

function pinTo(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, { all }, callback) => {
    const [first] = known
    if (first === undefined) callback(new Error('the host has no address'), '')
    else if (all) callback(null, known)
    else callback(null, first.address, first.family)
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue
    chunks.push(chunk.subarray(0, maxBytes - size))
    size += chunk.length
    if (size >= maxBytes) break
  }
  response.destroy()
  return Buffer.concat(chunks).toString()
}

function readDate(field: string | undefined): number | null {
  const at = Date.parse(field ?? '')
  return Number.isNaN(at) ? null : at
}
