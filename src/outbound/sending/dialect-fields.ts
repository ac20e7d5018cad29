/**
 * Reads header fields by which clients of other providers say how to send a message: Postmark, Mailgun, Amazon SES,
 * SendGrid, Mandrill, Resend, Mailjet, Brevo, SparkPost, MailerSend, AhaSend, Mailtrap, Postal, MailPace, SocketLabs,
 * Campaign Monitor, UniOne.
 *
 * They are removed before sending. A wrong value is ignored, as those providers do. A field is refused if it requires
 * another message or other recipients than this server would send (a template, values for each recipient, more copies,
 * TLS at any price), because ignoring it would send what the client did not mean.
 */
import { Refusal } from '../../base/mail/refusal.js'
import { isRecord } from '../../base/platform/records.js'
import type { Tag } from '../../base/storage/tables/email-tables.js'
import { MAX_IDEMPOTENCY_KEY } from './idempotency.js'
import { parseReleaseTime } from './schedule.js'
import type { SendingOptions } from './submitted-message.js'

export interface HeaderOptions extends SendingOptions {
  readonly idempotencyKey: string | null
}

export type HeaderDraft = { -readonly [Key in keyof HeaderOptions]: Key extends 'tags' ? Tag[] : HeaderOptions[Key] }

export const MAX_TAGS = 20
export const MAX_TAG_TEXT = 256

/** Fields with these beginnings control a provider, whatever follows. */
const prefixes = [
  ...[
    'x-pm-',
    'x-mc-',
    'x-mailgun-',
    'x-ses-',
    'x-mj-',
    'x-mailjet-',
    'x-mailin-',
    'x-mailersend-',
    'x-mt-',
    'ahasend-',
  ],
  ...['x-postal-', 'resend-', 'x-smtp2go-', 'x-elasticemail-', 'x-sib-', 'x-msys-', 'x-mailpace-', 'x-cmail-'],
] as const

const wholeNames: ReadonlySet<string> = new Set([
  ...['x-smtpapi', 'x-apiheader', 'x-unione', 'x-xsmessageid', 'x-xsmailingid', 'x-xstags', 'x-tags'],
])

/** `name` is the name in the message, in lower case. */
interface Written {
  readonly name: string
  readonly value: string
  readonly now: number
}

type Reader = (draft: HeaderDraft, written: Written) => void

const addTag: Reader = (draft, { value }) => addTagIfValid(draft, 'tag', value)
const addTags: Reader = (draft, { value }) => {
  for (const tag of readList(value)) addTagIfValid(draft, 'tag', tag)
}
const addMetadata: Reader = (draft, { value }) => addValues(draft, parseObject(value))
const trackOpens: Reader = (draft, { value }) => {
  draft.trackOpens ??= parseDialectFlag(value)
}
const trackClicks: Reader = (draft, { value }) => {
  draft.trackClicks ??= parseDialectFlag(value)
}
const schedule: Reader = (draft, { name, value, now }) => {
  draft.scheduledFor ??= parseDialectTime(name, value, now)
}
/** Every value except a clear "no" drops the message, because a message that should be dropped must never be sent. */
const drop: Reader = (draft, { value }) => {
  draft.dropped = parseDialectFlag(value) !== false
}
const refuse =
  (what: string): Reader =>
  (_draft, { name, value }) => {
    if (value !== '' && parseDialectFlag(value) !== false) throw buildDialectRefusal(name, what)
  }
const template = refuse(
  'asks for a template of the other service: send the composed message, or use POST /v1/emails with template_id',
)
const variables = refuse(
  'asks for values for the recipients, which are not replaced over SMTP: send each recipient a composed message',
)
const copies = refuse('asks for copies to other addresses: name them as recipients')

const readers: Readonly<Record<string, Reader>> = {
  'x-pm-tag': addTag,
  'x-pm-trackopens': trackOpens,
  'x-pm-tracklinks': trackClicks,
  'x-mailgun-tag': addTag,
  'x-mailgun-campaign-id': addTag,
  'x-mailgun-variables': addMetadata,
  'x-mailgun-track-clicks': trackClicks,
  'x-mailgun-track-opens': trackOpens,
  'x-mailgun-track': (draft, written) => {
    trackOpens(draft, written)
    trackClicks(draft, written)
  },
  'x-mailgun-deliver-by': schedule,
  'x-mailgun-drop-message': drop,
  'x-mailgun-recipient-variables': variables,
  'x-mailgun-template-name': template,
  'x-mailgun-archive-to': copies,
  'x-mailgun-require-tls': refuse('asks for TLS at any price: give MAIL the parameter REQUIRETLS'),
  'x-ses-message-tags': (draft, { value }) => {
    for (const pair of value.split(',')) {
      const [name = '', ...rest] = pair.split('=')
      addTagIfValid(draft, name.trim(), rest.join('=').trim())
    }
  },
  'x-smtpapi': readSendGrid,
  'x-msys-api': readSparkPost,
  'x-mc-tags': addTags,
  'x-mc-metadata': addMetadata,
  'x-mc-track': readMandrillTracking,
  'x-mc-sendat': schedule,
  'x-mc-template': template,
  'x-mc-mergevars': variables,
  'x-mc-bccaddress': copies,
  'x-mj-customid': addTag,
  'x-mailjet-campaign': addTag,
  'x-mailjet-trackopen': trackOpens,
  'x-mailjet-trackclick': trackClicks,
  'x-mj-templateid': template,
  'x-mj-vars': variables,
  'x-mailin-tag': addTags,
  'x-mailin-custom': addCustomValues,
  'x-sib-sandbox': drop,
  'x-mailersend-tags': addTags,
  'x-mailersend-template': template,
  'x-mailersend-personalization': variables,
  'x-mt-category': addTag,
  'x-mt-custom-variables': addMetadata,
  'ahasend-tags': addTags,
  'ahasend-track-opens': trackOpens,
  'ahasend-track-clicks': trackClicks,
  'ahasend-sandbox': drop,
  'x-postal-tag': addTag,
  'x-mailpace-tags': addTags,
  'x-tags': addTags,
  'x-cmail-groupname': addTag,
  'resend-idempotency-key': (draft, { name, value }) => {
    if (value === '' || value.length > MAX_IDEMPOTENCY_KEY)
      throw buildDialectRefusal(name, `has a key of ${value.length} characters, allowed: 1 to ${MAX_IDEMPOTENCY_KEY}`)
    draft.idempotencyKey ??= value
  },
}

const METADATA_PREFIX = 'x-pm-metadata-'

/** `name` is in lower case. */
export function isDialectField(name: string): boolean {
  return wholeNames.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
}

/** Throws a Refusal `malformed-message` for a field that requires something else than would be sent. */
export function readDialectField(draft: HeaderDraft, written: Written): void {
  const { name, value } = written
  if (name.startsWith(METADATA_PREFIX)) addTagIfValid(draft, name.slice(METADATA_PREFIX.length), value)
  if (Object.hasOwn(readers, name)) readers[name]?.(draft, written)
}

export function isTag({ name, value }: Tag): boolean {
  return name !== '' && name.length <= MAX_TAG_TEXT && value !== '' && value.length <= MAX_TAG_TEXT
}

/** Adds a tag. Ignores an invalid tag, and tags beyond the limit. */
function addTagIfValid(draft: HeaderDraft, name: string, value: string): void {
  const tag = { name, value }
  if (isTag(tag) && draft.tags.length < MAX_TAGS) draft.tags.push(tag)
}

function addValues(draft: HeaderDraft, values: unknown): void {
  if (!isRecord(values)) return
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      addTagIfValid(draft, name, String(value))
  }
}

/** Brevo: `name:value|name:value`, or a JSON object. */
function addCustomValues(draft: HeaderDraft, { value }: Written): void {
  const values = parseObject(value)
  addValues(draft, values)
  for (const pair of values === null ? value.split('|') : []) {
    const [name = '', ...rest] = pair.split(':')
    addTagIfValid(draft, name.trim(), rest.join(':').trim())
  }
}

/** SendGrid: https://www.twilio.com/docs/sendgrid/for-developers/sending-email/building-an-x-smtpapi-header */
function readSendGrid(draft: HeaderDraft, { name, value, now }: Written): void {
  const asked = parseObject(value)
  if (asked === null) throw buildDialectRefusal(name, 'is not a JSON object')
  for (const [key, what] of [
    ['to', 'other recipients: name them as recipients'],
    ['sub', 'values for the recipients, which are not replaced over SMTP'],
    ['section', 'values for the recipients, which are not replaced over SMTP'],
    ['send_each_at', 'a time for each recipient: send each recipient a message'],
  ] as const) {
    if (isFilled(asked[key])) throw buildDialectRefusal(name, `asks for ${what} ("${key}")`)
  }
  const filters = isRecord(asked['filters']) ? asked['filters'] : {}
  for (const filter of ['templates', 'template', 'bcc', 'footer', 'forwardspam'].filter(
    (one) => readFilter(filters[one]) === true,
  ))
    throw buildDialectRefusal(name, `asks for another message or other recipients (filter "${filter}")`)
  draft.trackOpens ??= readFilter(filters['opentrack'])
  draft.trackClicks ??= readFilter(filters['clicktrack'])
  for (const category of [asked['category']].flat())
    if (typeof category === 'string') addTagIfValid(draft, 'tag', category)
  addValues(draft, asked['unique_args'])
  if (typeof asked['send_at'] === 'number') draft.scheduledFor ??= parseDialectTime(name, String(asked['send_at']), now)
}

/** Returns null if the filter is not there. */
function readFilter(filter: unknown): boolean | null {
  const settings = isRecord(filter) && isRecord(filter['settings']) ? filter['settings'] : null
  return settings === null || settings['enable'] === undefined
    ? null
    : [1, '1', true].some((on) => on === settings['enable'])
}

/** SparkPost: https://developers.sparkpost.com/api/smtp/ */
function readSparkPost(draft: HeaderDraft, { name, value }: Written): void {
  const asked = parseObject(value)
  if (asked === null) throw buildDialectRefusal(name, 'is not a JSON object')
  for (const key of ['cc', 'bcc', 'archive'])
    if (isFilled(asked[key]))
      throw buildDialectRefusal(name, `asks for copies to other addresses ("${key}"): name them as recipients`)
  const options = isRecord(asked['options']) ? asked['options'] : {}
  if (typeof options['open_tracking'] === 'boolean') draft.trackOpens ??= options['open_tracking']
  if (typeof options['click_tracking'] === 'boolean') draft.trackClicks ??= options['click_tracking']
  if (typeof asked['campaign_id'] === 'string') addTagIfValid(draft, 'tag', asked['campaign_id'])
  for (const tag of [asked['tags']].flat()) if (typeof tag === 'string') addTagIfValid(draft, 'tag', tag)
  addValues(draft, asked['metadata'])
}

function readMandrillTracking(draft: HeaderDraft, { value }: Written): void {
  const words = readList(value.toLowerCase())
  draft.trackOpens ??= words.includes('opens')
  draft.trackClicks ??= words.some((word) => /^clicks(?:_all|_htmlonly)?$/.test(word))
}

function isFilled(value: unknown): boolean {
  return (Array.isArray(value) && value.length > 0) || (isRecord(value) && Object.keys(value).length > 0)
}

/** Returns null if the text is no JSON object. */
function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

/** Reads a list that is separated by commas, or in JSON. */
function readList(text: string): readonly string[] {
  return text
    .replace(/^\[|\]$|"/g, '')
    .split(',')
    .map((word) => word.trim())
}

/** Reads the words for yes and no that other providers accept. Returns null for another word. */
function parseDialectFlag(value: string): boolean | null {
  const word = value.toLowerCase()
  if (['true', 'yes', 'htmlonly', 'htmlandtext', 'enabled', '1', '2'].includes(word)) return true
  return ['false', 'no', 'none', 'textonly', 'disabled', '0'].includes(word) ? false : null
}

/**
 * Reads RFC 5322, ISO 8601, `2030-01-31 09:00:00` in UTC, or seconds since 1970. Refuses text that is no time, and a
 * time that is too late.
 */
function parseDialectTime(name: string, value: string, now: number): number | null {
  const utc = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?$/.test(value) ? `${value.replace(' ', 'T')}Z` : value
  const at = /^\d{9,10}$/.test(value) ? Number(value) * 1_000 : Date.parse(utc)
  const text = Number.isNaN(at) || value.length > 100 ? value : new Date(at).toISOString()
  return parseReleaseTime(text, now, name)
}

function buildDialectRefusal(field: string, what: string): Refusal {
  return new Refusal('malformed-message', `${field}: ${what}`, { field })
}
