/** The error of every request that did not succeed: the server refused it, or no answer came. */

interface ErrorFacts {
  /** The code of the server, such as `invalid_from_address`, or `connection_failed` if no answer came. */
  readonly code: string
  /** The HTTP status, or null if no answer came. */
  readonly status: number | null
  /** What the server says about the fault, such as the fields at fault in `errors`. */
  readonly details: Readonly<Record<string, unknown>>
  /** The `X-Request-Id` of the answer. The log of the server has it too. Null if no answer came. */
  readonly requestId: string | null
}

export class PosthornError extends Error implements ErrorFacts {
  override name = 'PosthornError'
  readonly code: string
  readonly status: number | null
  readonly details: Readonly<Record<string, unknown>>
  readonly requestId: string | null

  constructor(message: string, { code, status, details, requestId }: ErrorFacts, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.status = status
    this.details = details
    this.requestId = requestId
  }
}

/** Reads the body of a refusal. A reverse proxy may answer with another form, or with no JSON at all. */
export async function readRefusal(response: Response): Promise<PosthornError> {
  const { status, headers } = response
  const requestId = headers.get('x-request-id')
  const text = await response.text().catch(() => '')
  const { code, message, details } = findErrorObject(text)
  if (typeof code === 'string' && typeof message === 'string') {
    return new PosthornError(message, { code, status, details: isObject(details) ? details : {}, requestId })
  }
  const facts = { code: 'unexpected_answer', status, details: { body: text.slice(0, 1_000) }, requestId }
  return new PosthornError(`the server answered ${status}`, facts)
}

/** Makes the error of a request that got no answer. */
export function toConnectionError(url: URL, cause: unknown): PosthornError {
  const reason = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : ''
  return new PosthornError(
    `no answer from ${url.origin}: ${reason}`,
    { code: 'connection_failed', status: null, details: {}, requestId: null },
    { cause },
  )
}

function findErrorObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) && isObject(body['error']) ? body['error'] : {}
  } catch {
    return {}
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
