/**
 * Reads service header fields, by which a client says how to send a message: `X-Service-*`, and the fields of other
 * providers.
 *
 * The fields of this server are strict: a wrong value, or a second occurrence of a field that may occur once, is
 * refused. They take precedence over those of other providers (`dialect-fields`). All of them are removed before
 * sending.
 */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import {
  type HeaderDraft,
  type HeaderOptions,
  isDialectField,
  isTag,
  MAX_TAG_TEXT,
  MAX_TAGS,
  readDialectField,
} from './dialect-fields.js'
import { MAX_IDEMPOTENCY_KEY } from './idempotency.js'
import { parseReleaseTime } from './schedule.js'

/** `name` is the usual spelling of the field, for refusals. */
type FieldReader = (draft: HeaderDraft, value: string, now: number, name: string) => void

const serviceReaders: Readonly<Record<string, FieldReader>> = {
  'x-service-track-opens': (draft, value, _now, name) => {
    draft.trackOpens = parseFlag(name, value)
  },
  'x-service-track-clicks': (draft, value, _now, name) => {
    draft.trackClicks = parseFlag(name, value)
  },
  'x-service-tag': (draft, value, _now, name) => {
    const equals = value.indexOf('=')
    const tag = { name: value.slice(0, Math.max(equals, 0)).trim(), value: value.slice(equals + 1).trim() }
    if (!isTag(tag)) throw buildFieldRefusal(name, value, `name=value, each of 1 to ${MAX_TAG_TEXT} characters`)
    if (draft.tags.length >= MAX_TAGS) throw buildFieldRefusal(name, value, `at most ${MAX_TAGS} tags`)
    draft.tags.push(tag)
  },
  'x-service-priority': (draft, value, _now, name) => {
    const word = value.toLowerCase()
    if (word !== 'high' && word !== 'normal' && word !== 'low')
      throw buildFieldRefusal(name, value, '"high", "normal" or "low"')
    draft.priority = word
  },
  'x-service-scheduled-for': (draft, value, now, name) => {
    draft.scheduledFor = parseReleaseTime(value, now, name)
  },
  'x-service-idempotency-key': (draft, value, _now, name) => {
    if (value === '' || value.length > MAX_IDEMPOTENCY_KEY) {
      throw buildFieldRefusal(name, value, `1 to ${MAX_IDEMPOTENCY_KEY} characters`)
    }
    draft.idempotencyKey = value
  },
}

/** The usual spelling of the field. */
export const IDEMPOTENCY_FIELD = 'X-Service-Idempotency-Key'

/** Tells whether this is a service header field, which is removed. `name` is in lower case. */
export function isServiceField(name: string): boolean {
  return name.startsWith('x-service-') || isDialectField(name)
}

/** `fields` are the service header fields in their order. Their values are unfolded and trimmed. */
export function readServiceFields(
  fields: readonly { readonly name: string; readonly value: string }[],
  now: number,
): HeaderOptions {
  const draft: HeaderDraft = {
    trackOpens: null,
    trackClicks: null,
    tags: [],
    priority: 'normal',
    scheduledFor: null,
    idempotencyKey: null,
  }
  const seen = new Set<string>()
  for (const { name, value } of fields) {
    if (!name.startsWith('x-service-')) continue
    const read = serviceReaders[name]
    if (read === undefined) continue
    const field = canonicalNameOf(name)
    if (seen.has(name)) throw new Refusal('malformed-message', `${field}: occurs twice, allowed: once`, { field })
    if (name !== 'x-service-tag') seen.add(name)
    read(draft, value, now, field)
  }
  for (const { name, value } of fields) {
    readDialectField(draft, { name, value, now })
  }
  return draft
}

/** Converts `x-service-tag` to `X-Service-Tag`. */
function canonicalNameOf(name: string): string {
  return name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
}

function parseFlag(name: string, value: string): boolean {
  const word = value.toLowerCase()
  if (word !== 'true' && word !== 'false') throw buildFieldRefusal(name, value, '"true" or "false"')
  return word === 'true'
}

function buildFieldRefusal(field: string, value: string, allowed: string): Refusal {
  return new Refusal('malformed-message', `${field}: found "${formatForDisplay(value)}", allowed: ${allowed}`, {
    field,
    value,
  })
}
