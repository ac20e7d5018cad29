/** The fields of requests for an email: what a client may send, and the value that each is parsed to. */
import { z } from 'zod'
import { type Address, explainAddress, tryParseAddress } from '../../../base/mail/address.js'
import { explainSurrogate } from '../../../base/mail/address-characters.js'
import {
  findLineFault,
  isDisplayName,
  MAX_NAME_LENGTH,
  type NamedAddress,
  tryParseNamedAddress,
} from '../../../base/mail/named-address.js'
import { LONG_BODY, type RequestedBody } from '../../../outbound/sending/message-content.js'
import { addressIssue } from '../http/input/parse-input.js'
import { rejectProto, withMaxSize } from '../http/input/schema-bounds.js'

/** Recipients in `to`, `cc` and `bcc` together. */
export const MAX_RECIPIENTS = 50

/** One mail address without a name. */
export const addressText = z
  .string()
  .transform((text, context): Address => {
    const address = tryParseAddress(text.trim())
    if (address !== null) return address
    context.addIssue({ code: 'custom', params: addressIssue, message: explainAddress(text, 'is not a mail address') })
    return z.NEVER
  })
  .meta({ description: 'A mail address.', example: 'bob@example.com' })

/** `bob@b.test` or `Bob <bob@b.test>`. */
export const mailboxText = z
  .string()
  .transform((text, context): NamedAddress => {
    const mailbox = tryParseNamedAddress(text)
    if (mailbox !== null) return mailbox
    context.addIssue({ code: 'custom', params: addressIssue, message: explainAddress(text, describeFault(text)) })
    return z.NEVER
  })
  .meta({ description: 'A mail address, with a name before it or without.', example: 'Bob <bob@example.com>' })

function describeFault(text: string): string {
  const isSeveral = text.split(/[,;]/, 3).filter((part) => part.includes('@')).length > 1
  return isSeveral
    ? 'has several mail addresses: use a list, such as ["ann@example.com", "bob@example.com"]'
    : 'is not one mail address, such as bob@example.com or Bob <bob@example.com>'
}

export const mailboxObject = z
  .strictObject({
    address: addressText,
    name: z
      .string()
      .trim()
      .refine(isDisplayName, {
        error: ({ input }) =>
          explainSurrogate(String(input)) ?? `must be one line of at most ${MAX_NAME_LENGTH} characters`,
      })
      .meta({ description: 'The name that readers see.', example: 'Bob' })
      .optional(),
  })
  .transform(({ address, name = '' }): NamedAddress => ({ address, name }))

const recipientObject = z.strictObject({ email_address: mailboxObject }).transform(({ email_address }) => email_address)

const error = 'must be an address, {address, name} or {email_address: {address, name}}, or a list of these'
const mailbox = z.union([mailboxText, mailboxObject, recipientObject], { error }).meta({ id: 'Mailbox' })
/** One or several mailboxes, in any form. */
export const mailboxes = z.union(
  [
    mailbox.transform((one) => [one]),
    withMaxSize(MAX_RECIPIENTS, 'addresses', z.array(mailbox).min(1).max(MAX_RECIPIENTS)),
  ],
  { error },
)

/** Only a body that a thread parses is long enough to become UTF-8. */
export const bodyText = z
  .string()
  .transform((text): RequestedBody => (text.length > LONG_BODY ? Buffer.from(text) : text))

export const oneLine = z.string().superRefine((text, { addIssue }) => {
  const message = findLineFault(text)
  if (message !== null) addIssue({ code: 'custom', message })
})

/** Bytes that are encoded at once. It is a multiple of three, so that only the last piece is padded. */
const ENCODED_AT_ONCE = 49_152

/**
 * Whether `text` is the base64 of `bytes`. It is compared in pieces, because a second text of megabytes stays until a
 * collection.
 */
function isEncodingOf(text: string, bytes: Buffer): boolean {
  if (text.length !== Math.ceil(bytes.length / 3) * 4) return false
  for (let at = 0; at < bytes.length; at += ENCODED_AT_ONCE) {
    if (!text.startsWith(bytes.toString('base64', at, at + ENCODED_AT_ONCE), (at / 3) * 4)) return false
  }
  return true
}

/** Strict base64: the alphabet of RFC 4648 section 4, padded, without line breaks. */
export const base64 = z
  .string()
  .transform((text, context): Buffer => {
    const bytes = Buffer.from(text, 'base64')
    // The decoder ignores invalid characters, so the result is encoded again and compared.
    if (isEncodingOf(text, bytes)) return bytes
    context.addIssue({ code: 'custom', message: 'is not base64 (RFC 4648 section 4, padded, without line breaks)' })
    return z.NEVER
  })
  .meta({ description: 'The bytes in base64.', example: 'aGVsbG8=', contentEncoding: 'base64' })

const token = "[\\w!#$%&'*+.^`|~-]+"
const mediaType = new RegExp(`^${token}/${token}(?: *; *${token}=(?:${token}|"[^"\\\\\\x00-\\x1f\\x7f-\\uffff]*"))*$`)

/** RFC 2045 section 5.1. `multipart/…` cannot be attached. */
export const contentType = z
  .string()
  // Nothing else checks a longer one, because the expression would use up the stack.
  .max(255, { abort: true })
  .refine((text) => mediaType.test(text) && !/^multipart\//i.test(text), 'is not a media type, such as image/png')
  .meta({ description: 'A media type.', example: 'application/pdf' })

export const filename = oneLine.min(1).max(255).meta({ description: 'What readers save it as.', example: 'bill.pdf' })

export const MAX_CONTENT_ID = 255
const contentIdRule = 'must be printable ASCII without blanks and angle brackets, such as logo.png'

/** The content id that HTML refers to as `cid:`. */
export const contentId = z
  .string()
  .max(MAX_CONTENT_ID)
  .regex(/^[\x21-\x3b\x3d\x3f-\x7e]+$/, contentIdRule)
  .meta({ description: 'HTML shows the image as `cid:` and this.', example: 'logo' })

/** Characters of all texts in `template_data`. A template itself has 1 MB. */
const MAX_DATA_TEXT = 2_097_152
const dataRule = `has more than ${MAX_DATA_TEXT} characters of text in its values`

/** The parser has bounded how deep values are nested, and how many there are. */
function lengthOfText(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, one) => sum + lengthOfText(one), 0)
}

export const templateData = rejectProto(
  z.record(z.string(), z.unknown()).refine((data) => lengthOfText(data) <= MAX_DATA_TEXT, dataRule),
).meta({
  description: 'Values of its variables: text, numbers, booleans, and objects of them for names with dots.',
  example: { first_name: 'Bob' },
})
