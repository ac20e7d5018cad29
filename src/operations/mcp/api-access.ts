/** Sends requests of tools to the REST API with the key of the user. */
import { errorMessageOf } from '../../base/platform/errors.js'
import type { HttpAnswer, HttpClient } from '../../base/platform/http/http-client.js'
import { isRecord } from '../../base/platform/records.js'
import { ToolRefusal } from './tool-refusal.js'

/** Milliseconds. */
const REQUEST_TIMEOUT = 60_000

export interface ApiTarget {
  /** Such as `https://mx.example.com:8443`. */
  readonly url: URL
  /** The only addresses that are dialled; null: those of the host. */
  readonly addresses: readonly string[] | null
  readonly key: string
}

type Values = Readonly<Record<string, string | number | undefined>>

export class ApiAccess {
  constructor(
    private readonly http: HttpClient,
    private readonly target: ApiTarget,
  ) {}

  /** `path` begins with `/v1/`. */
  get(path: string, query: Values = {}): Promise<unknown> {
    const url = this.resolve(path)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    return this.send('GET', url, null, {})
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    return this.send('POST', this.resolve(path), JSON.stringify(body), headers)
  }

  private resolve(path: string): URL {
    const base = this.target.url.href.replace(/\/$/, '')
    return new URL(`${base}${path}`)
  }

  private async send(
    method: 'GET' | 'POST',
    url: URL,
    body: string | null,
    more: Readonly<Record<string, string>>,
  ): Promise<unknown> {
    const { addresses, key } = this.target
    const type = body === null ? {} : { 'content-type': 'application/json' }
    const headers = { authorization: `Bearer ${key}`, ...type, ...more }
    const pinned = addresses === null ? {} : { addresses }
    const answer = await this.http
      .send(method, { url, headers, body, timeout: REQUEST_TIMEOUT, ...pinned })
      .catch((error: unknown) => {
        throw new ToolRefusal(`${url.origin} gives no answer: ${errorMessageOf(error)}`)
      })
    return readAnswer(answer)
  }
}

function readAnswer({ status, body, isComplete }: HttpAnswer): unknown {
  if (!isComplete) throw new ToolRefusal('the answer of the server is too large: ask for fewer items')
  const value = parseBody(body)
  if (status >= 200 && status < 300 && value !== undefined) return value
  const error = isRecord(value) ? value['error'] : undefined
  if (!isRecord(error)) throw new ToolRefusal(`the server answered ${status}, and not as Posthorn does`)
  const { code, message, details } = error
  const facts = isRecord(details) && Object.keys(details).length > 0 ? `\ndetails: ${JSON.stringify(details)}` : ''
  throw new ToolRefusal(`the server refused this with ${status} ${String(code)}: ${String(message)}${facts}`)
}

/** Undefined if it is no JSON. */
function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
