/**
 * The form by which Mailgun's clients send, and its values
 * (https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages).
 */
import { z } from 'zod'
import { tryParseAddress } from '../../../base/mail/address.js'
import { isUnambiguous, parseMailboxList } from '../../../base/mail/mailbox-list.js'
import { isDisplayName, type NamedAddress } from '../../../base/mail/named-address.js'
import { isRecord } from '../../../base/platform/records.js'
import { MAX_CUSTOM_FIELDS } from '../../../outbound/sending/custom-fields.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import { contentId, contentType, filename, oneLine, templateData } from '../emails/email-fields.js'
import type { Form, FormFile } from '../http/input/form.js'
import { parseJsonBody } from '../http/input/json-body.js'
import { addressIssue } from '../http/input/parse-input.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { oneAddress } from './fields.js'

/** Recipients of one request. */
const MAX_RECIPIENTS = 1_000
/** Characters of all addresses of a field, and of one. */
const MAX_ADDRESSES_TEXT = 131_072
const MAX_ADDRESS_TEXT = 1_000
/** Characters of a text in JSON: two kilobytes for each of a thousand recipients. */
const MAX_JSON = 2_097_152

/** Addresses of several fields, or separated by commas within one. */
export const mailgunAddresses = z
  .array(z.string())
  .transform((texts, context): NamedAddress[] => {
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', params: addressIssue, message })
      return z.NEVER
    }
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    if (length > MAX_ADDRESSES_TEXT) return refuse(`must have at most ${MAX_ADDRESSES_TEXT} characters`)
    const entries = texts.flatMap(splitAddresses)
    if (entries.length > MAX_RECIPIENTS) return refuse(`at most ${MAX_RECIPIENTS} addresses`)
    const found = entries.map(parseEntry)
    const wrong = entries[found.indexOf(null)]
    if (wrong === undefined) return found.filter((mailbox) => mailbox !== null)
    return refuse(`has an entry that is not a mail address: ${JSON.stringify(wrong.slice(0, 100))}`)
  })
  .meta({ description: 'Mail addresses, separated by commas; the field may occur several times.' })

/** Null for text that is no mailbox, or has several addresses. */
function parseEntry(text: string): NamedAddress | null {
  if (text.length > MAX_ADDRESS_TEXT || !isUnambiguous(text)) return null
  const [mailbox, ...others] = parseMailboxList(text)
  const address = mailbox?.address == null || others.length > 0 ? null : tryParseAddress(mailbox.address)
  if (mailbox === undefined || address === null) return null
  return { address, name: isDisplayName(mailbox.name) ? mailbox.name : '' }
}

/** Divides text at the commas that stand outside of quotes and angle brackets. */
function splitAddresses(text: string): readonly string[] {
  const entries: string[] = []
  let start = 0
  let isQuoted = false
  let isBracketed = false
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]
    if (letter === '\\') at += 1
    else if (letter === '"' && !isBracketed) isQuoted = !isQuoted
    else if (letter === '<' && !isQuoted) isBracketed = true
    else if (letter === '>') isBracketed = false
    else if (letter === ',' && !isQuoted && !isBracketed) {
      entries.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  return [...entries, text.slice(start).trim()].filter((entry) => entry !== '')
}

const jsonObject = z.string().transform((text, context): Readonly<Record<string, unknown>> => {
  const refuse = (message: string): never => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  if (text.length > MAX_JSON) return refuse(`must have at most ${MAX_JSON} characters`)
  const value = tryParseJson(text)
  return isRecord(value) ? value : refuse('must be a JSON object')
})

const templateValues = jsonObject.transform((value): unknown => value).pipe(templateData)

/** The field by which older clients give the values of a template. */
export const variablesField = z.object({ 'h:X-Mailgun-Variables': templateValues })

/** Undefined for text that is not JSON, nests too deep or has too many values. */
function tryParseJson(text: string): unknown {
  try {
    return parseJsonBody(Buffer.from(text))
  } catch {
    return undefined
  }
}

/** Each value is visited once: schemas of records would take ten times as long for thousands of them. */
const recipientVariables = jsonObject
  .transform((given, context): ReadonlyMap<string, ReadonlyMap<string, string>> => {
    const found = new Map<string, ReadonlyMap<string, string>>()
    for (const [address, values] of Object.entries(given)) {
      if (isRecord(values)) found.set(address.toLowerCase(), toTexts(values))
      else context.addIssue({ code: 'custom', path: [address], message: 'must be an object of values' })
    }
    return found
  })
  .meta({
    description: 'Values of each recipient, by address, in JSON. Each recipient then gets an email alone.',
    example: '{"bob@example.com": {"name": "Bob"}}',
  })

/** Values as texts; those that are none are written as JSON. */
function toTexts(values: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

const flag = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['yes', 'true', '1', 'htmlonly', 'no', 'false', '0'], 'allowed: yes, no'))
  .transform((word) => !['no', 'false', '0'].includes(word))

/** A date as mail has it, ISO 8601, or seconds since 1970. */
const deliveryTime = z
  .string()
  .max(64)
  .transform((text, context): string => {
    const at = /^\d{9,10}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1_000 : Date.parse(text)
    if (!Number.isNaN(at)) return new Date(at).toISOString()
    context.addIssue({ code: 'custom', message: 'allowed: a date such as Thu, 31 Jan 2030 09:00:00 +0000' })
    return z.NEVER
  })
  .meta({ description: 'When to send it, at most 30 days ahead.', example: 'Thu, 31 Jan 2030 09:00:00 +0000' })

const bytes = z
  .custom<Buffer>(Buffer.isBuffer)
  .meta({ override: { type: 'string', contentMediaType: 'application/octet-stream' } })
const file = z.object({ filename, content: bytes, contentType: contentType.optional() })
const files = z.array(file).optional()
const images = z.array(file.extend({ filename: contentId })).optional()

export const mailgunOptions = {
  'o:tag': withMaxSize(MAX_TAGS, 'tags', z.array(z.string().max(MAX_TAG_TEXT)))
    .optional()
    .meta({ description: 'It may occur several times.' }),
  'o:tracking': flag.optional(),
  'o:tracking-opens': flag.optional(),
  'o:tracking-clicks': flag.optional(),
  'o:deliverytime': deliveryTime.optional(),
  'o:testmode': flag.optional().meta({ description: 'The email is recorded and not sent.' }),
} as const

export const mailgunVariables = z.record(z.string().min(1).max(MAX_TAG_TEXT), z.string()).default({}).meta({
  description: 'Each is a field `v:name` of the form, and comes back in events.',
})

export const mailgunFields = z.object({
  from: oneAddress,
  to: mailgunAddresses.refine((list) => list.length > 0, 'is required'),
  cc: mailgunAddresses.optional(),
  bcc: mailgunAddresses.optional(),
  subject: oneLine.max(MAX_SUBJECT).default(''),
  html: z.string().optional(),
  text: z.string().optional(),
  template: z.string().min(1).max(256).optional().meta({ description: 'The alias or the id of a template here.' }),
  't:variables': templateValues.optional().meta({ description: 'Values of the template, in JSON.' }),
  'recipient-variables': recipientVariables.optional(),
  ...mailgunOptions,
  h: withMaxSize(MAX_CUSTOM_FIELDS, 'header fields', z.record(z.string(), z.string()))
    .default({})
    .meta({ description: 'Each is a field `h:Name` of the form.' }),
  v: mailgunVariables,
  attachment: files.meta({ description: 'Files; the field may occur several times.' }),
  inline: images.meta({ description: 'Images that the HTML shows as `cid:` and their filenames.' }),
})

export type MailgunFields = z.output<typeof mailgunFields>

const lists = new Set(['to', 'cc', 'bcc', 'o:tag'])
/** Fields that may be empty. Others count as absent then. */
const texts = new Set(['subject', 'html', 'text'])

/** The fields as the schema has them: lists where a field may occur several times, else its last value. */
export function collectMailgunFields({ fields, files }: Form): Readonly<Record<string, unknown>> {
  // A field may be called `__proto__`.
  const single = new Map<string, string>()
  const several = new Map<string, unknown[]>()
  const named = { h: new Map<string, string>(), v: new Map<string, string>() }
  const addTo = (name: string, values: readonly unknown[]): void => {
    several.set(name, [...(several.get(name) ?? []), ...values])
  }
  for (const [given, values] of fields) {
    const name = plainNameOf(given)
    const last = values.at(-1) ?? ''
    if (name.startsWith('h:')) named.h.set(name.slice(2), last)
    else if (name.startsWith('v:')) named.v.set(name.slice(2), last)
    else if (lists.has(name))
      addTo(
        name,
        values.filter((value) => value !== ''),
      )
    else if (last !== '' || texts.has(name)) single.set(name, last)
  }
  for (const file of files) addTo(plainNameOf(file.field), [toFile(file)])
  const [h, v] = [Object.fromEntries(named.h), Object.fromEntries(named.v)]
  return { ...Object.fromEntries(single), ...Object.fromEntries(several), h, v }
}

/** Clients in PHP number the fields of a list: `attachment[0]`. */
function plainNameOf(name: string): string {
  return name.replace(/\[\d{0,4}\]$/, '')
}

function toFile({ filename, contentType, content }: FormFile): Readonly<Record<string, unknown>> {
  return { filename: filename === '' ? 'file' : filename, content, ...(contentType === '' ? {} : { contentType }) }
}
