/**
 * The header fields by which a receiver verifies a request.
 *
 * `X-Service-Signature` is the HMAC-SHA256 of the bytes of the body, in hex, keyed with the whole secret as text.
 * `webhook-id`, `webhook-timestamp` and `webhook-signature` are those of Standard Webhooks
 * (https://www.standardwebhooks.com): the HMAC-SHA256 of `id.timestamp.body` in base64, keyed with the bytes that
 * the secret encodes after `whsec_`.
 */
import { createHmac } from 'node:crypto'

interface SignedRequest {
  /** The id of the event. Receivers recognise a repeated event by it. */
  readonly id: string
  /** Epoch milliseconds of this attempt. */
  readonly at: number
  readonly body: string
  /** `whsec_` and base64. */
  readonly secret: string
  /** Signs `webhook-signature` too, after a rotation. It is null if there is none. */
  readonly previousSecret: string | null
}

const SECRET_PREFIX = 'whsec_'

export function signRequest({ id, at, body, secret, previousSecret }: SignedRequest): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000))
  const signed = `${id}.${timestamp}.${body}`
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret]
  return {
    'X-Service-Signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((each) => `v1,${signStandard(signed, each)}`).join(' '),
  }
}

function signStandard(signed: string, secret: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return createHmac('sha256', key).update(signed).digest('base64')
}
