/** The form by which Mailgun's clients send a message that they have composed. */
import { z } from 'zod'
import type { Address } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Tag } from '../../../base/storage/tables/email-tables.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import type { Form } from '../http/input/form.js'
import { parseInput } from '../http/input/parse-input.js'
import { toTags } from './fields.js'
import { collectMailgunFields, mailgunAddresses, mailgunOptions, mailgunVariables } from './mailgun-fields.js'

const fields = {
  to: mailgunAddresses.refine((list) => list.length > 0, 'is required'),
  ...mailgunOptions,
  v: mailgunVariables,
} as const

const schema = z.object(fields)

/** For the OpenAPI document: clients send the message as a file or as a text. */
export const mailgunMessageFields = z.object({
  ...fields,
  message: z.string().meta({ description: 'The message, as RFC 5322 has it.' }),
})

export interface MailgunMessage {
  readonly raw: Buffer
  readonly to: readonly Address[]
  readonly tags: readonly Tag[]
  readonly isTest: boolean
  /** Null if the request does not say it. */
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  /** ISO 8601. */
  readonly deliveryTime: string | null
}

/** Throws a Refusal. */
export function readMailgunMessage(form: Form): MailgunMessage {
  const file = form.files.find(({ field }) => field === 'message')
  const text = form.fields.get('message')?.at(-1)
  const raw = file?.content ?? (text === undefined ? null : Buffer.from(text))
  if (raw === null) throw new Refusal('missing-field', 'message: is required', { field: 'message' })
  if (form.fields.has('recipient-variables')) {
    const message = 'recipient-variables: a composed message has no variables: send it to /messages'
    throw new Refusal('invalid-parameter', message, { field: 'recipient-variables' })
  }
  const given = parseInput(schema, collectMailgunFields(form))
  const tags = toTags(given['o:tag'] ?? [], given.v)
  if (tags.length > MAX_TAGS || tags.some(({ value }) => value.length > MAX_TAG_TEXT)) {
    const message = `o:tag: at most ${MAX_TAGS} tags with the variables v:*, each of at most ${MAX_TAG_TEXT} characters`
    throw new Refusal('invalid-parameter', message, { field: 'o:tag' })
  }
  return {
    ...{ raw, tags, to: [...new Set(given.to.map(({ address }) => address))], isTest: given['o:testmode'] ?? false },
    trackOpens: given['o:tracking-opens'] ?? given['o:tracking'] ?? null,
    trackClicks: given['o:tracking-clicks'] ?? given['o:tracking'] ?? null,
    deliveryTime: given['o:deliverytime'] ?? null,
  }
}
