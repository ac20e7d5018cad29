/**
 * A client that knows HTTPS and JSON and nothing of Posthorn: `node:https`, the server's certificate as its only
 * authority, one request after another.
 */
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'

interface PlainRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
}

export interface PlainResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface PlainClient {
  readonly ask: (asked: PlainRequest) => Promise<PlainResponse>
  readonly close: () => void
}

export function plainClient(port: number, ca: string): PlainClient {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 1, servername: 'localhost' })
  return {
    ask: ({ method, path, headers, body }) =>
      new Promise((resolve, reject) => {
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
        const sent = request({
          ...{ host: '127.0.0.1', port, agent, method, path },
          headers: { ...headers, ...length },
        })
        sent.on('error', reject)
        sent.on('response', (response) => {
          text(response).then(
            (whole) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text: whole }),
            reject,
          )
        })
        sent.end(body)
      }),
    close: () => agent.destroy(),
  }
}
