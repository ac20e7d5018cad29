/** The `Idempotency-Key` of a request: the same key with the same body gets the first answer again. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { IdempotentRequest } from '../../../outbound/sending/email-committer.js'
import { type KeyUse, MAX_IDEMPOTENCY_KEY } from '../../../outbound/sending/idempotency.js'
import type { Call } from '../http/route/route.js'

export const idempotencyHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(MAX_IDEMPOTENCY_KEY)
    .optional()
    .meta({ description: 'Within 24 hours, the same key with the same body gets the first answer again.' }),
})

/** Null if there is no key. */
export function parseIdempotencyKey({ header, principal, fingerprint }: Call<unknown, unknown>): KeyUse | null {
  const key = header('idempotency-key')
  if (key === undefined) return null
  if (key === '' || key.length > MAX_IDEMPOTENCY_KEY) {
    const message = `Idempotency-Key: 1 to ${MAX_IDEMPOTENCY_KEY} characters, found ${key.length}`
    throw new Refusal('invalid-parameter', message, { field: 'Idempotency-Key', value: key.slice(0, 100) })
  }
  return { workspaceId: principal.workspaceId, key, fingerprint: fingerprint() }
}

export function withStoredAnswer(use: KeyUse | null, answer: string): IdempotentRequest | null {
  return use === null ? null : { ...use, becomes: { emailId: null, answer } }
}
