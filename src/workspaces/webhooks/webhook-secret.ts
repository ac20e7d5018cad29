/**
 * Makes secrets of webhooks: `whsec_` and the base64 of 32 random bytes, the form of Standard Webhooks.
 *
 * We store them in clear, because we sign each request with them. Only the answer that makes a secret shows it.
 */
import { randomSecret } from '../../base/platform/ids.js'

const SECRET_BYTES = 32

export function generateWebhookSecret(): string {
  return `whsec_${randomSecret(SECRET_BYTES).toString('base64')}`
}
