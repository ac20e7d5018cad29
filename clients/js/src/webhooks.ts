/** Verifies that a webhook request comes from your server, and reads its event. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** The header fields of the request, as node:http, Express or `Request` have them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export interface WebhookRequest {
  /** The bytes as they arrived: parsing and writing JSON again changes them. */
  readonly body: Uint8Array | string
  readonly headers: WebhookHeaders
  /** `whsec_…`; several while you replace the secret. */
  readonly secret: string | readonly string[]
}

export interface VerifyOptions {
  /** Seconds that the timestamp may be older or newer than the present time. Default 300. */
  readonly tolerance?: number
  /** Milliseconds since 1970. Default: the present time. */
  readonly now?: number
}

export interface WebhookEvent {
  /** Equal for each delivery of an event. Ignore an id that you know. */
  readonly id: string
  /** Such as `email.delivered`. */
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The request is not genuine, or too old. Answer it with 401. */
export class WebhookError extends Error {
  override name = 'WebhookError'
}

const SECRET_PREFIX = 'whsec_'

/**
 * Verifies the fields of Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`. A copy of a
 * genuine request is refused when its timestamp is too old.
 */
export function verifyWebhook(request: WebhookRequest, options: VerifyOptions = {}): WebhookEvent {
  const { tolerance = 300, now = Date.now() } = options
  const id = readField(request.headers, 'webhook-id')
  const timestamp = readField(request.headers, 'webhook-timestamp')
  const given = readField(request.headers, 'webhook-signature').split(' ')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp: must be seconds since 1970')
  if (Math.abs(now / 1_000 - Number(timestamp)) > tolerance) {
    throw new WebhookError(`webhook-timestamp: is more than ${tolerance} seconds from the present time`)
  }
  const expected = listSecrets(request.secret).map((secret) => {
    return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(request.body).digest('base64')}`
  })
  return readGenuine(request.body, 'webhook-signature', { given, expected })
}

/** Verifies `X-Service-Signature`, which covers the body only: it cannot tell an old request from a new one. */
export function verifyServiceSignature({ body, headers, secret }: WebhookRequest): WebhookEvent {
  const given = [readField(headers, 'x-service-signature')]
  const expected = listSecrets(secret).map((each) => `sha256=${createHmac('sha256', each).update(body).digest('hex')}`)
  return readGenuine(body, 'X-Service-Signature', { given, expected })
}

interface Signatures {
  readonly given: readonly string[]
  readonly expected: readonly string[]
}

function readGenuine(body: Uint8Array | string, field: string, { given, expected }: Signatures): WebhookEvent {
  if (!given.some((one) => expected.some((other) => isEqual(one, other)))) {
    throw new WebhookError(`${field}: is not the signature of this body with your secret`)
  }
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString()) as WebhookEvent
}

/** Takes as long for a wrong signature as for the right one. */
function isEqual(one: string, other: string): boolean {
  const [given, expected] = [Buffer.from(one), Buffer.from(other)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Bytes. */
const MIN_KEY_BYTES = 16

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64')
}

function listSecrets(secret: string | readonly string[]): readonly string[] {
  const all = typeof secret === 'string' ? [secret] : secret
  // With an empty secret, or one that encodes nothing, anyone could compute the signature.
  if (all.length === 0 || all.some((one) => keyOf(one).length < MIN_KEY_BYTES))
    throw new TypeError('secret: is empty or too short; give the signing_secret of the webhook')
  return all
}

function readField(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : findValue(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookError(`${name}: is missing`)
  return value
}

function findValue(headers: Exclude<WebhookHeaders, Headers>, name: string): unknown {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
}
