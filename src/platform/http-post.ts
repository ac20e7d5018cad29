/**
 * A POST to a server that the operator configured, with limits on the time and on the size of the response.
 * Redirects are not followed: any status but 200 is an error.
 *
 * The time limit covers everything from the call on: waiting for a free connection, connecting, TLS, sending and
 * the response. Credentials in the URL are sent as Basic authentication and appear in no error.
 *
 * Known limit: each request opens a connection of its own.
 */
import { Agent as PlainAgent, type RequestOptions, request as requestPlain } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { urlToHttpOptions } from 'node:url'

/** The message says why there is no response, for a log. */
class HttpFault extends Error {
  override name = 'HttpFault'
}

interface HttpPostSettings {
  /** `http:` or `https:`. */
  readonly url: URL
  /** Requests under way at a time; further ones wait. */
  readonly maxConcurrent: number
  /** Milliseconds. */
  readonly timeout: number
  /** Bytes of a response. */
  readonly maxResponseBytes: number
}

interface HttpRequest {
  /** Values are latin1 and are sent byte for byte. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Buffer
}

/** Resolves to the body of a response with status 200; anything else rejects with HttpFault. */
export type HttpPost = (request: HttpRequest) => Promise<Buffer>

export function createHttpPost({ url, maxConcurrent, timeout, maxResponseBytes }: HttpPostSettings): HttpPost {
  const isTls = url.protocol === 'https:'
  const agent = new (isTls ? TlsAgent : PlainAgent)({ maxSockets: maxConcurrent })
  const base: RequestOptions = { ...urlToHttpOptions(url), method: 'POST', agent }
  return ({ headers, body }) =>
    new Promise((resolve, reject) => {
      const clientRequest = (isTls ? requestTls : requestPlain)({
        ...base,
        headers: { ...headers, 'Content-Length': body.length },
      })
      const finish = (fault: HttpFault | null, answer: Buffer = Buffer.alloc(0)): void => {
        clearTimeout(timer)
        // Later errors of the connection do not matter.
        clientRequest.on('error', () => undefined).destroy()
        if (fault === null) resolve(answer)
        else reject(fault)
      }
      const timer = setTimeout(() => finish(new HttpFault(`no answer within ${timeout / 1000} s`)), timeout)
      clientRequest.on('error', (error: NodeJS.ErrnoException) => finish(new HttpFault(error.code ?? error.message)))
      clientRequest.on('response', (response) => {
        if (response.statusCode !== 200) return finish(new HttpFault(`answered ${response.statusCode}`))
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > maxResponseBytes) finish(new HttpFault(`an answer of more than ${maxResponseBytes} bytes`))
          else chunks.push(chunk)
        })
        response.on('error', (error: NodeJS.ErrnoException) => finish(new HttpFault(error.code ?? error.message)))
        response.on('end', () => finish(null, Buffer.concat(chunks)))
      })
      clientRequest.end(body)
    })
}
