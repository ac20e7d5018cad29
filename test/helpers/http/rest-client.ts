/** Requests to the API of a test daemon: real HTTPS, its certificate verified. */
import type { Test } from 'tap'
import { Agent, request } from 'undici'
import type { Daemon } from '../../../src/operations/daemon/daemon.js'

export interface RestRequest {
  /** Null: none. */
  readonly key?: string | null
  /** A value, sent as JSON; or bytes and text, sent as they are. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface RestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The parsed JSON body. */
  readonly json: <T = Json>() => T
}

/** The part of an answer that a test reads: it knows the shape that it expects. */
export interface Json {
  readonly [key: string]: Json
}

type Rest = (method: string, path: string, request?: RestRequest) => Promise<RestAnswer>

export function restClient(t: Test, daemon: Pick<Daemon, 'api' | 'tls'>, ownKey: string): Rest {
  const agent = new Agent({ connect: { ca: daemon.tls.cert, servername: 'localhost' } })
  t.teardown(() => agent.destroy())
  return async (method, path, { key = ownKey, body, headers = {} } = {}) => {
    const endpoint = daemon.api.find(({ kind }) => kind === 'tls')
    if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('the daemon has no REST listener')
    const answer = await request(`https://127.0.0.1:${endpoint.port}${path}`, {
      dispatcher: agent,
      method: method as 'GET',
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw(body) }),
    })
    const text = await answer.body.text()
    return { status: answer.statusCode, headers: answer.headers, text, json: <T>() => JSON.parse(text) as T }
  }
}

function raw(body: unknown): string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}
