/** The fields that the requests of several services have: how each is written, and the email that they become. */
import { z } from 'zod'
import { tryParseAddress } from '../../../base/mail/address.js'
import { isUnambiguous, MAX_LIST_LENGTH, parseMailboxList } from '../../../base/mail/mailbox-list.js'
import { isDisplayName, MAX_NAME_LENGTH, type NamedAddress } from '../../../base/mail/named-address.js'
import { MAX_CUSTOM_FIELDS } from '../../../outbound/sending/custom-fields.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import { base64, MAX_RECIPIENTS } from '../emails/email-fields.js'
import { customHeaders, type EmailRequest } from '../emails/email-request.js'
import { addressIssue } from '../http/input/parse-input.js'
import { rejectProto, withMaxSize } from '../http/input/schema-bounds.js'

/** Mailboxes separated by commas, with or without names: `bob@b.test, "Bob, of B" <bob@b.test>`. */
export const addressList = z
  .string()
  .transform((text, context): NamedAddress[] => {
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', params: addressIssue, message })
      return z.NEVER
    }
    if (text.trim() === '') return []
    if (text.length > MAX_LIST_LENGTH) return refuse(`must have at most ${MAX_LIST_LENGTH} characters`)
    // The parser takes its time for thousands of entries. Names may have commas too.
    if (countCommas(text) > MAX_COMMAS) return refuse(`at most ${MAX_RECIPIENTS} addresses`)
    // The parser would lose one of two addresses without a comma.
    if (!isUnambiguous(text)) return refuse('must be mail addresses with commas between them')
    const found = parseMailboxList(text)
    if (found.length > MAX_RECIPIENTS) return refuse(`at most ${MAX_RECIPIENTS} addresses`)
    const mailboxes = found.flatMap(({ address, name }) => {
      const parsed = address === null ? null : tryParseAddress(address)
      return parsed === null ? [] : [{ address: parsed, name: isDisplayName(name) ? name : '' }]
    })
    return mailboxes.length === found.length && found.length > 0 ? mailboxes : refuse('must be mail addresses')
  })
  .meta({ description: 'Mail addresses, separated by commas.', example: 'Bob <bob@example.com>' })

const MAX_COMMAS = 4 * MAX_RECIPIENTS

function countCommas(text: string): number {
  let count = 0
  for (let at = text.indexOf(','); at !== -1; at = text.indexOf(',', at + 1)) count += 1
  return count
}

/** At least one mailbox. */
export const recipientList = addressList.refine((mailboxes) => mailboxes.length > 0, 'is required')

/** One mailbox, with or without a name. */
export const oneAddress = addressList.transform((mailboxes, context): NamedAddress => {
  const [mailbox] = mailboxes
  if (mailbox !== undefined && mailboxes.length === 1) return mailbox
  context.addIssue({ code: 'custom', params: addressIssue, message: 'must be one mail address' })
  return z.NEVER
})

/** A name of a mailbox that is too long for a header field is left out. */
export function toMailbox(address: NamedAddress['address'], name: string | undefined): NamedAddress {
  const short = (name ?? '').trim().slice(0, MAX_NAME_LENGTH)
  return { address, name: isDisplayName(short) ? short : '' }
}

/** Base64 of RFC 4648 section 4, as libraries write it: with or without line breaks. */
export const looseBase64 = z
  .string()
  .transform((text) => (/\s/.test(text) ? text.replace(/\s+/g, '') : text))
  .pipe(base64)

const ownFields = new Set(['sender', 'date', 'mime-version', 'return-path', 'received'])

/** Whether this server writes the header field itself. Clients send such fields of a composed message along. */
export function isOwnField(name: string): boolean {
  const lower = name.toLowerCase()
  return ownFields.has(lower) || lower.startsWith('content-')
}

/**
 * Header fields as a list of names and values; each name may be there once, whatever its case. Those that `isLeftOut`
 * names are left out.
 */
export function headerList(isLeftOut: (name: string) => boolean = () => false): z.ZodType<HeaderFields> {
  const list = z.array(z.object({ Name: z.string(), Value: z.string() }))
  return withMaxSize(MAX_CUSTOM_FIELDS, 'header fields', list)
    .transform((given, context): unknown => {
      const fields = new Map<string, string>()
      for (const { Name, Value } of given.filter(({ Name }) => !isLeftOut(Name))) {
        // An object would keep the last one alone.
        if (fields.has(Name)) context.addIssue({ code: 'custom', path: [Name], message: 'is given twice' })
        fields.set(Name, Value)
      }
      return Object.fromEntries(fields)
    })
    .pipe(customHeaders)
}

/** Text, a number or a switch, as text. */
export const plainText = z.union([z.string(), z.number(), z.boolean()]).transform(String)

/** Values that become tags. Names and values are parts of database keys, which must not be longer. */
export const tagValues = withMaxSize(
  MAX_TAGS,
  'entries',
  rejectProto(z.record(z.string().min(1).max(MAX_TAG_TEXT), plainText.pipe(z.string().max(MAX_TAG_TEXT)))),
)

/** An email whose fields may be undefined, as an optional field of a schema is. */
type EmailDraft = Pick<EmailRequest, 'from' | 'to'> & {
  readonly [Field in Exclude<keyof EmailRequest, 'from' | 'to' | 'priority'>]?: EmailRequest[Field] | undefined
}

export function toEmailRequest(draft: EmailDraft): EmailRequest {
  return { ...draft, priority: 'normal' }
}

/** The tags of a request's lists: texts without a name are called `tag`. */
export function toTags(
  words: readonly string[],
  values: Readonly<Record<string, string>> = {},
): NonNullable<EmailRequest['tags']> {
  const named = Object.entries(values).map(([name, value]) => ({ name, value }))
  return [...words.map((value) => ({ name: 'tag', value })), ...named].filter(({ value }) => value !== '')
}

type HeaderFields = Readonly<Record<string, string>>

/** The header fields of several lists. Of names that differ in case only, the last one stays. */
export function mergeHeaders(...lists: readonly (HeaderFields | undefined)[]): HeaderFields {
  const merged = new Map<string, readonly [name: string, value: string]>()
  for (const [name, value] of lists.flatMap((list) => Object.entries(list ?? {}))) {
    merged.set(name.toLowerCase(), [name, value])
  }
  return Object.fromEntries(merged.values())
}

/** A file of a request: an image of the HTML if it has a content id, else an attachment. */
export interface GivenFile {
  readonly filename: string
  readonly content: Buffer
  readonly contentType: string | undefined
  readonly contentId: string | undefined
}

export function toFiles(files: readonly GivenFile[]): Pick<EmailDraft, 'attachments' | 'inline_images'> {
  const others = files.filter(({ contentId }) => contentId === undefined)
  return {
    attachments: others.map(({ filename, content, contentType = 'application/octet-stream' }) => {
      return { filename, content, content_type: contentType }
    }),
    inline_images: files.flatMap(({ filename, content, contentType, contentId: cid }) => {
      const typed = contentType === undefined ? {} : { content_type: contentType }
      return cid === undefined ? [] : [{ filename, content, cid, ...typed }]
    }),
  }
}
