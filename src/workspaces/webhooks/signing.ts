/**
 * The header fields by which a receiver verifies a request.
 *
 * `X-Service-Signature` is the HMAC-SHA256 of the bytes of the body, in hex, keyed with the whole secret as text.
 * `webhook-id`, `webhook-timestamp` and `webhook-signature` are those of Standard Webhooks
 * (https://www.standardwebhooks.com): the HMAC-SHA256 of `id.timestamp.body` in base64, keyed with the bytes that
 * the secret encodes after `whsec_`. `svix-id`, `svix-timestamp` and `svix-signature` have the same values, for the
 * libraries that read these names.
 *
 * `X-Twilio-Email-Event-Webhook-*` go with requests of the format `sendgrid`: a signature with the key pair of the
 * webhook, over the timestamp and the bytes of the body.
 */
import { createHmac, createPrivateKey, createSign } from 'node:crypto'

interface SignedRequest {
  /** The id of the event. Receivers recognise a repeated event by it. */
  readonly id: string
  /** Epoch milliseconds of this attempt. */
  readonly at: number
  readonly body: Buffer | string
  /** `whsec_` and base64. */
  readonly secret: string
  /** Signs `webhook-signature` too, after a rotation. It is null if there is none. */
  readonly previousSecret: string | null
}

const SECRET_PREFIX = 'whsec_'

export function signRequest({ id, at, body, secret, previousSecret }: SignedRequest): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000))
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret]
  const signature = secrets.map((each) => `v1,${signStandard(`${id}.${timestamp}.`, body, each)}`).join(' ')
  return {
    'X-Service-Signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
    'svix-id': id,
    'svix-timestamp': timestamp,
    'svix-signature': signature,
  }
}

function signStandard(prefix: string, body: Buffer | string, secret: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return createHmac('sha256', key).update(prefix).update(body).digest('base64')
}

/** `privateKey` is PKCS #8 in base64. */
export function signWithKeyPair(
  privateKey: string,
  at: number,
  body: Buffer | string,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000))
  const key = createPrivateKey({ key: Buffer.from(privateKey, 'base64'), format: 'der', type: 'pkcs8' })
  return {
    'X-Twilio-Email-Event-Webhook-Signature': createSign('sha256').update(timestamp).update(body).sign(key, 'base64'),
    'X-Twilio-Email-Event-Webhook-Timestamp': timestamp,
  }
}
