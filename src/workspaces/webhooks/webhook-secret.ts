/**
 * Secrets of webhooks: `whsec_` and base64 of 32 random bytes, the form of Standard Webhooks.
 *
 * They are stored in clear, because each request is signed with them, and are shown only by the answer that makes them.
 */
import { randomSecret } from '../../base/platform/ids.js'

const SECRET_BYTES = 32

export function generateWebhookSecret(): string {
  return `whsec_${randomSecret(SECRET_BYTES).toString('base64')}`
}
