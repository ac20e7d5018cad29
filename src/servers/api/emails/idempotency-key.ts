/** The `Idempotency-Key` of a request: the same key with the same body has an effect once. */
import { z } from 'zod'
import { type PlainRefusal, Refusal, reviveRefusal, toPlainRefusal } from '../../../base/mail/refusal.js'
import type { IdempotentRequest } from '../../../outbound/sending/email-committer.js'
import { type EarlierUse, type KeyUse, MAX_IDEMPOTENCY_KEY } from '../../../outbound/sending/idempotency.js'
import type { Call } from '../http/route/route.js'

/** The field of a request. `description` says what a second request with the same key gets. */
export function idempotencyHeader(
  description: string,
): z.ZodObject<{ readonly 'Idempotency-Key': z.ZodOptional<z.ZodString> }> {
  return z.object({ 'Idempotency-Key': z.string().min(1).max(MAX_IDEMPOTENCY_KEY).optional().meta({ description }) })
}

export const idempotencyHeaders = idempotencyHeader(
  'Within 24 hours, the same key with the same body gets the first answer again.',
)

type AnyCall = Call<unknown, unknown>

/** Null if there is no key. Throws a Refusal `invalid-parameter`. */
export function readIdempotencyKey({ header }: Pick<AnyCall, 'header'>): string | null {
  const key = header('idempotency-key')
  if (key === undefined) return null
  if (key !== '' && key.length <= MAX_IDEMPOTENCY_KEY) return key
  const message = `Idempotency-Key: 1 to ${MAX_IDEMPOTENCY_KEY} characters, found ${key.length}`
  throw new Refusal('invalid-parameter', message, { field: 'Idempotency-Key', value: key.slice(0, 100) })
}

/** The key with the fingerprint of the request. Null if there is no key. */
export function parseIdempotencyKey(call: AnyCall): KeyUse | null {
  const key = readIdempotencyKey(call)
  return key === null ? null : { workspaceId: call.principal.workspaceId, key, fingerprint: call.fingerprint() }
}

/** `after` are the emails of the request that its parts before have, if it has several parts. */
export function withStoredAnswer(use: KeyUse | null, answer: string, after = 0): IdempotentRequest | null {
  return use === null ? null : toRequest(use, { emailId: null, answer, progress: null }, after)
}

/** `items` is what the answer says of the emails of all parts so far, of which those before this one have `after`. */
export function withProgress(use: KeyUse | null, items: readonly unknown[], after: number): IdempotentRequest | null {
  if (use === null) return null
  const answer = JSON.stringify(items.map(toStoredItem))
  return toRequest(use, { emailId: null, answer, progress: items.length }, after)
}

function toRequest(use: KeyUse, becomes: EarlierUse, after: number): IdempotentRequest {
  return after === 0 ? { ...use, becomes } : { ...use, becomes, after }
}

type StoredItem<Item> = { readonly item: Item } | { readonly refusal: PlainRefusal }

/** No answer in parts has the list of the fields at fault, which may be long. */
function toStoredItem(item: unknown): StoredItem<unknown> {
  if (!(item instanceof Refusal)) return { item }
  const { errors: _, ...details } = item.details
  return { refusal: toPlainRefusal(new Refusal(item.kind, item.message, details)) }
}

/** What the answer says of the emails of earlier parts. The items are those of `withProgress`, which has written them. */
export function readProgress<Item>({ answer }: EarlierUse): (Item | Refusal)[] {
  const stored: readonly StoredItem<Item>[] = JSON.parse(answer ?? '[]')
  return stored.map((one) => ('refusal' in one ? reviveRefusal(one.refusal) : one.item))
}
