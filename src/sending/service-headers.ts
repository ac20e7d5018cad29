/**
 * The header fields by which an app steers us: `X-Service-*`, and the dialects of the
 * services that it may have used before.
 *
 * Our own fields are read strictly: a wrong value is refused, never guessed, and so is a
 * field that is there twice and may be there once. Dialects are read kindly: a value that
 * we do not understand is passed over, as its own service would. Where both speak, ours
 * wins. All of these fields are taken out before sending.
 */
import { shown } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { MAX_IDEMPOTENCY_KEY } from './idempotency.js'
import { releaseTime } from './schedule.js'
import type { SendingOptions, Tag } from './submitted-message.js'

export interface HeaderOptions extends SendingOptions {
  readonly idempotencyKey: string | null
}

type Draft = { -readonly [Key in keyof HeaderOptions]: Key extends 'tags' ? Tag[] : HeaderOptions[Key] }

/** `name`: as clients write the field. */
type Reader = (draft: Draft, value: string, now: number, name: string) => void

export const MAX_TAGS = 20
export const MAX_TAG_TEXT = 256

const own: Readonly<Record<string, Reader>> = {
  'x-service-track-opens': (draft, value, _now, name) => {
    draft.trackOpens = flag(name, value)
  },
  'x-service-track-clicks': (draft, value, _now, name) => {
    draft.trackClicks = flag(name, value)
  },
  'x-service-tag': (draft, value, _now, name) => {
    const equals = value.indexOf('=')
    const tag = { name: value.slice(0, Math.max(equals, 0)).trim(), value: value.slice(equals + 1).trim() }
    if (!isTag(tag)) throw wrong(name, value, `name=value, each of 1 to ${MAX_TAG_TEXT} characters`)
    if (draft.tags.length >= MAX_TAGS) throw wrong(name, value, `at most ${MAX_TAGS} tags`)
    draft.tags.push(tag)
  },
  'x-service-priority': (draft, value, _now, name) => {
    const word = value.toLowerCase()
    if (word !== 'high' && word !== 'normal' && word !== 'low') throw wrong(name, value, '"high", "normal" or "low"')
    draft.priority = word
  },
  'x-service-scheduled-for': (draft, value, now, name) => {
    draft.scheduledFor = releaseTime(value, now, name)
  },
  'x-service-idempotency-key': (draft, value, _now, name) => {
    if (value === '' || value.length > MAX_IDEMPOTENCY_KEY) {
      throw wrong(name, value, `1 to ${MAX_IDEMPOTENCY_KEY} characters`)
    }
    draft.idempotencyKey = value
  },
}

const dialects: Readonly<Record<string, Reader>> = {
  'x-pm-tag': (draft, value) => addKindly(draft, 'tag', value),
  'x-pm-trackopens': (draft, value) => {
    draft.trackOpens ??= kindFlag(value)
  },
  'x-mailgun-tag': (draft, value) => addKindly(draft, 'tag', value),
  'x-mailgun-track-clicks': (draft, value) => {
    draft.trackClicks ??= kindFlag(value)
  },
  'x-mailgun-track-opens': (draft, value) => {
    draft.trackOpens ??= kindFlag(value)
  },
  'x-ses-message-tags': (draft, value) => {
    for (const pair of value.split(',')) {
      const [name = '', ...rest] = pair.split('=')
      addKindly(draft, name.trim(), rest.join('=').trim())
    }
  },
}

/** As clients write it. */
export const IDEMPOTENCY_FIELD = 'X-Service-Idempotency-Key'

/** Is this field an instruction to us, to be taken out? `name` in lower case. */
export function isServiceField(name: string): boolean {
  return name.startsWith('x-service-') || Object.hasOwn(dialects, name)
}

/** `fields`: those for which `isServiceField` holds, in their order, values unfolded and trimmed. */
export function readServiceFields(
  fields: readonly { readonly name: string; readonly value: string }[],
  now: number,
): HeaderOptions {
  const draft: Draft = {
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
    const read = own[name]
    if (read === undefined) continue
    const field = asWritten(name)
    if (seen.has(name)) throw new Refusal('malformed-message', `${field}: is there twice, allowed: once`, { field })
    if (name !== 'x-service-tag') seen.add(name)
    read(draft, value, now, field)
  }
  for (const { name, value } of fields) {
    if (Object.hasOwn(dialects, name)) dialects[name]?.(draft, value, now, name)
  }
  return draft
}

/** `X-Service-Tag` of `x-service-tag`. */
function asWritten(name: string): string {
  return name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
}

function isTag({ name, value }: Tag): boolean {
  return name !== '' && name.length <= MAX_TAG_TEXT && value !== '' && value.length <= MAX_TAG_TEXT
}

/** What is no tag here is passed over. */
function addKindly(draft: Draft, name: string, value: string): void {
  const tag = { name, value }
  if (isTag(tag) && draft.tags.length < MAX_TAGS) draft.tags.push(tag)
}

function flag(name: string, value: string): boolean {
  const word = value.toLowerCase()
  if (word !== 'true' && word !== 'false') throw wrong(name, value, '"true" or "false"')
  return word === 'true'
}

/** The words that the other services take for yes and no. */
function kindFlag(value: string): boolean | null {
  const word = value.toLowerCase()
  if (['true', 'yes', 'htmlonly'].includes(word)) return true
  return ['false', 'no'].includes(word) ? false : null
}

function wrong(field: string, value: string, allowed: string): Refusal {
  return new Refusal('malformed-message', `${field}: found "${shown(value)}", allowed: ${allowed}`, { field, value })
}
