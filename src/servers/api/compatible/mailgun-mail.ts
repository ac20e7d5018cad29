/** A request of Mailgun's clients, and the emails that it stands for: one, or one for each recipient with variables. */
import { z } from 'zod'
import type { NamedAddress } from '../../../base/mail/named-address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { isRecord } from '../../../base/platform/records.js'
import { sharedTurns } from '../../../base/platform/shared-turns.js'
import { findCustomFieldFault } from '../../../outbound/sending/custom-fields.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import { LONG_BODY, type RequestedBody } from '../../../outbound/sending/message-content.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import type { RequestList } from '../emails/email-acceptance.js'
import { MAX_RECIPIENTS } from '../emails/email-fields.js'
import { type EmailRequest, emailRules } from '../emails/email-request.js'
import { parseInput } from '../http/input/parse-input.js'
import { isOwnField, mergeHeaders, toEmailRequest, toFiles, toTags } from './fields.js'
import { type MailgunFields, mailgunAddresses, variablesField } from './mailgun-fields.js'
import {
  fillTexts,
  type Person,
  PersonalText,
  removeFieldLinks,
  replaceBodyLinks,
  requireFewPlaces,
  toPersonalFields,
} from './mailgun-placeholders.js'

/** 1 GB: the most bytes of bodies and files in all emails of a request together. */
const MAX_TOTAL = 1_073_741_824

/** Characters, in JSON. */
const MAX_PERSONAL_DATA = 65_536

const VARIABLES_FIELD = 'x-mailgun-variables'

const checked: z.ZodType = z.custom<EmailRequest>().check(...emailRules)

export class MailgunMail {
  /** The email for all recipients. Null if each recipient gets one. */
  readonly single: EmailRequest | null
  private readonly subject: PersonalText
  private readonly bodies: { readonly html: PersonalText | undefined; readonly text: PersonalText | undefined }
  private readonly headers: readonly (readonly [name: string, value: PersonalText])[]
  private readonly variables: readonly (readonly [name: string, value: PersonalText])[]
  private readonly data: Readonly<Record<string, unknown>>
  private readonly isDataPersonal: boolean
  /** Each gets an email alone. Null if there is one email for all. */
  private readonly persons: readonly Person[] | null

  /** Throws a Refusal for fields that do not make an email. */
  constructor(private readonly fields: MailgunFields) {
    const { subject, html, text, to, h, v, template, 'recipient-variables': values, 't:variables': data } = fields
    this.subject = new PersonalText(subject)
    this.bodies = { html: toBody(html), text: toBody(text) }
    this.headers = toPersonalFields(collectHeaders(h))
    const given = readVariables(h)
    this.variables = toPersonalFields(Object.entries({ ...given.texts, ...v }))
    this.data = { ...given.values, ...v, ...data }
    this.persons = values === undefined ? null : toPersons(to, values)
    this.isDataPersonal = this.persons !== null && template !== undefined && isPersonalData(this.data)
    const texts = [...this.headers, ...this.variables].map(([, written]) => written)
    requireFewPlaces([this.subject, ...texts], this.persons?.length ?? 1)
    requireTotal(this)
    const first = this.build(this.persons?.[0] ?? null, null)
    if (first instanceof Refusal) throw first
    parseInput(checked, first)
    this.single = this.persons === null ? first : null
  }

  get length(): number {
    return this.persons?.length ?? 1
  }

  get isTest(): boolean {
    return this.fields['o:testmode'] ?? false
  }

  /** Bytes of the bodies and files of one email, before its values are in it. */
  get size(): number {
    const { html = '', text = '', attachment = [], inline = [] } = this.fields
    return [...attachment, ...inline].reduce((sum, { content }) => sum + content.length, html.length + text.length)
  }

  /** An email for each recipient, with the same Message-ID: clients find what happened to a request by it. */
  withMessageId(messageId: string): RequestList {
    return { length: this.length, [Symbol.iterator]: () => this.emails(messageId) }
  }

  /** Rejects with the first Refusal of an email, in steps: nothing may be sent if one of them is wrong. */
  async check(): Promise<void> {
    for (const person of this.persons ?? []) {
      // A header field with 800 addresses takes milliseconds.
      const head = await sharedTurns.take(() => this.buildHead(person))
      if (head instanceof Refusal) throw head
    }
  }

  private *emails(messageId: string): Generator<EmailRequest | Refusal> {
    for (const person of this.persons ?? []) yield this.build(person, messageId)
  }

  private build(person: Person | null, messageId: string | null): EmailRequest | Refusal {
    const { fields, bodies } = this
    const head = this.buildHead(person)
    if (head instanceof Refusal) return head
    const { headers } = head
    const hasId = Object.keys(headers).some((name) => name.toLowerCase() === 'message-id')
    const html = fillBody(bodies.html, person)
    const isTemplate = fields.template !== undefined
    return toEmailRequest({
      ...{ from: fields.from, cc: fields.cc, bcc: fields.bcc, ...head, html },
      to: person === null ? fields.to : [person.mailbox],
      text: fillBody(bodies.text, person),
      headers: messageId === null || hasId ? headers : { ...headers, 'Message-ID': messageId },
      template_alias: fields.template,
      template_data: isTemplate ? this.fillData(person) : undefined,
      scheduled_for: fields['o:deliverytime'],
      tracking: {
        open: fields['o:tracking-opens'] ?? fields['o:tracking'],
        click: fields['o:tracking-clicks'] ?? fields['o:tracking'],
      },
      ...toFiles([
        ...(fields.attachment ?? []).map((file) => ({ ...toFile(file), contentId: undefined })),
        ...(fields.inline ?? []).map((file) => ({ ...toFile(file), contentId: file.filename })),
      ]),
    })
  }

  /** What stands in the header of the message, and its tags. */
  private buildHead(person: Person | null): Head | Refusal {
    const subject = fillLine(this.subject, person)
    if (subject.length > MAX_SUBJECT) return fault('subject', `must have at most ${MAX_SUBJECT} characters`)
    const all = this.headers.map(([name, value]) => [name, fillLine(value, person)] as const)
    const replyTo = all.find(([name]) => isReplyTo(name))?.[1]
    const headers = all.filter(([name]) => !isReplyTo(name))
    for (const [name, value] of headers) {
      const found = findCustomFieldFault(name, value)
      if (found !== null) return fault(`h:${name}`, found)
    }
    const answered = replyTo === undefined ? undefined : readReplyTo(replyTo)
    if (answered instanceof Refusal) return answered
    const tags = this.buildTags(person)
    if (tags instanceof Refusal) return tags
    return { subject, headers: Object.fromEntries(headers), reply_to: answered, tags }
  }

  /** With a template, variables are values for it first of all: those that are too long to be tags are left out. */
  private buildTags(person: Person | null): ReturnType<typeof toTags> | Refusal {
    const { 'o:tag': words = [], template } = this.fields
    const named = this.variables.map(([name, value]) => [name, fill(value, person)] as const)
    const short = named.filter(isShort)
    const tags = toTags(words, Object.fromEntries(short))
    if (template !== undefined) return tags.slice(0, MAX_TAGS)
    const [long] = named.find((one) => !isShort(one)) ?? []
    if (long !== undefined) {
      const rule = `must have at most ${MAX_TAG_TEXT} characters, and 1 to ${MAX_TAG_TEXT} in its name`
      return fault(`v:${long.slice(0, MAX_TAG_TEXT)}`, rule)
    }
    return tags.length > MAX_TAGS ? fault('o:tag', `at most ${MAX_TAGS} tags with the variables v:*`) : tags
  }

  private fillData(person: Person | null): Readonly<Record<string, unknown>> {
    if (person === null || !this.isDataPersonal) return this.data
    const filled = fillTexts(this.data, person)
    return isRecord(filled) ? filled : {}
  }
}

/** Whether the variable can be a tag. The form bounds names of `v:name`, but not those in `h:X-Mailgun-Variables`. */
function isShort([name, value]: readonly [name: string, value: string]): boolean {
  return name !== '' && name.length <= MAX_TAG_TEXT && value.length <= MAX_TAG_TEXT
}

type File = NonNullable<MailgunFields['attachment']>[number]

function toFile({ filename, content, contentType }: File): Pick<File, 'filename' | 'content'> & {
  readonly contentType: string | undefined
} {
  return { filename, content, contentType }
}

/** Whether values of a template have placeholders. Throws a Refusal if they are too many to be filled for each recipient. */
function isPersonalData(data: Readonly<Record<string, unknown>>): boolean {
  const text = JSON.stringify(data)
  if (!text.includes('%recipient')) return false
  if (text.length <= MAX_PERSONAL_DATA) return true
  throw fault('t:variables', `with placeholders of recipients they have at most ${MAX_PERSONAL_DATA} characters`)
}

type Head = Pick<EmailRequest, 'headers' | 'tags'> & {
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  readonly reply_to: NamedAddress[] | undefined
}

function toBody(text: string | undefined): PersonalText | undefined {
  return text === undefined ? undefined : new PersonalText(replaceBodyLinks(text))
}

function fill(text: PersonalText, person: Person | null): string {
  return person === null ? text.written : text.fill(person)
}

/** A value may have line ends, which a field must not have. */
function fillLine(text: PersonalText, person: Person | null): string {
  return fill(text, person).replace(/[\r\n\0]+/g, ' ')
}

function fillBody(text: PersonalText | undefined, person: Person | null): RequestedBody | undefined {
  if (text === undefined) return undefined
  const filled = fill(text, person)
  return filled.length > LONG_BODY ? Buffer.from(filled) : filled
}

/** Lists of emails have these addresses: a hundred emails with a thousand each would make an answer of 10 MB. */
function readReplyTo(text: string): NamedAddress[] | Refusal {
  const { success, data } = mailgunAddresses.safeParse([text])
  if (!success) return fault('h:Reply-To', 'must be mail addresses')
  if (data.length <= MAX_RECIPIENTS) return data
  return fault('h:Reply-To', `has ${data.length} addresses, allowed: ${MAX_RECIPIENTS}`)
}

function isReplyTo(name: string): boolean {
  return name.toLowerCase() === 'reply-to'
}

/** The fields that the message gets. Links of the service are not in them, and then not their companion either. */
function collectHeaders(given: MailgunFields['h']): readonly (readonly [string, string])[] {
  const kept = Object.entries(mergeHeaders(given))
    .filter(([name]) => !isOwnField(name) && name.toLowerCase() !== VARIABLES_FIELD)
    .map(([name, value]) => [name, isListField(name) ? removeFieldLinks(value) : value] as const)
    .filter(([, value]) => value !== '')
  const hasLinks = kept.some(([name]) => isListField(name))
  return hasLinks ? kept : kept.filter(([name]) => name.toLowerCase() !== 'list-unsubscribe-post')
}

function isListField(name: string): boolean {
  return name.toLowerCase() === 'list-unsubscribe'
}

interface Variables {
  readonly values: Readonly<Record<string, unknown>>
  readonly texts: Readonly<Record<string, string>>
}

/** The variables of `h:X-Mailgun-Variables`, in JSON. A value that is no text stays JSON. */
function readVariables(headers: MailgunFields['h']): Variables {
  const [, text = '{}'] = Object.entries(headers).find(([name]) => name.toLowerCase() === VARIABLES_FIELD) ?? []
  const values = parseInput(variablesField, { 'h:X-Mailgun-Variables': text })['h:X-Mailgun-Variables']
  const texts = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return { values, texts: Object.fromEntries(texts) }
}

function toPersons(to: readonly NamedAddress[], values: ReadonlyMap<string, Person['values']>): readonly Person[] {
  const persons = new Map<string, Person>()
  for (const mailbox of to) {
    const key = mailbox.address.toLowerCase()
    if (!persons.has(key)) persons.set(key, { mailbox, values: values.get(key) ?? new Map() })
  }
  return [...persons.values()]
}

function requireTotal({ size, length }: MailgunMail): void {
  if (size * length <= MAX_TOTAL) return
  const message = `the messages of ${length} recipients have ${size * length} bytes or more, allowed: ${MAX_TOTAL}`
  throw new Refusal('too-large', message, { size: size * length, limit: MAX_TOTAL })
}

function fault(field: string, rule: string): Refusal {
  return new Refusal('invalid-parameter', `${field}: ${rule}`, { field })
}
