/**
 * Gateways that take a body of the operator's making: JSON, XML or a form, with placeholders for what differs.
 *
 * `{to}`, `{text}`, `{from}`, `{id}` and `{receipt_url}` are filled in one pass, so a text that contains `{to}` stays as
 * it is. Each value is escaped for its place: within the quotes of a JSON string, in the text or a quoted attribute of
 * XML, in the value of a form. Everything else of the template is sent as it stands.
 */
import type { SendOutcome, SmsMessage } from '../provider.js'
import {
  buildBasicAuthorization,
  type GatewayAnswer,
  type HttpStyle,
  isSuccess,
  parseAnswerObject,
} from './http-style.js'

interface TemplateSettings {
  readonly body_template: string
  readonly username: string
  readonly password: string
  readonly sender: string
}

interface BodyForm {
  readonly type: string
  readonly escapeValue: (value: string) => string
}

const forms: Readonly<Record<'json' | 'xml' | 'form', BodyForm>> = {
  json: { type: 'application/json', escapeValue: escapeJson },
  xml: { type: 'application/xml; charset=utf-8', escapeValue: escapeXml },
  form: { type: 'application/x-www-form-urlencoded', escapeValue: escapeFormValue },
}

/** Fields in which gateways answer with the id of the message. */
const ID_FIELDS = ['id', 'message_id', 'messageId', 'sid'] as const
const MAX_ID_LENGTH = 200

export function createTemplateStyle(settings: TemplateSettings): HttpStyle {
  const { body_template: template, sender } = settings
  const form = formOf(template)
  const headers = { 'content-type': form.type, ...buildAuthorization(settings) }
  return {
    buildRequest: (message) => ({ headers, body: fillTemplate(template, form, valuesOf(message, sender)) }),
    readAnswer,
    describeAnswer,
  }
}

function buildAuthorization({ username, password }: TemplateSettings): { readonly authorization?: string } {
  if (username !== '') return { authorization: buildBasicAuthorization(username, password) }
  return password === '' ? {} : { authorization: `Bearer ${Buffer.from(password).toString('latin1')}` }
}

function formOf(template: string): BodyForm {
  const first = template.trimStart().charAt(0)
  if (first === '{' || first === '[') return forms.json
  return first === '<' ? forms.xml : forms.form
}

type Placeholder = 'to' | 'text' | 'from' | 'id' | 'receipt_url'

function valuesOf(message: SmsMessage, sender: string): Readonly<Record<Placeholder, string>> {
  const { phone, text, id, receiptUrl } = message
  return { to: phone, text: text.text, from: sender, id, receipt_url: receiptUrl }
}

function fillTemplate(
  template: string,
  { escapeValue }: BodyForm,
  values: Readonly<Record<Placeholder, string>>,
): string {
  return template.replace(/\{(to|text|from|id|receipt_url)\}/g, (_, name: Placeholder) => escapeValue(values[name]))
}

function escapeJson(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

function escapeXml(value: string): string {
  return replaceUnpaired(value).replace(/[&<>"'\p{Cc}\ufffe\uffff]/gu, (char) => entities[char] ?? toReference(char))
}

/**
 * A line feed would become a space in an attribute, so it is written as a reference. What XML 1.0 does not allow
 * (section 2.2) becomes U+FFFD.
 */
function toReference(char: string): string {
  return /[\t\n\r\x7f-\x9f]/.test(char) ? `&#${char.charCodeAt(0)};` : '\ufffd'
}

function escapeFormValue(value: string): string {
  return encodeURIComponent(replaceUnpaired(value)).replaceAll('%20', '+')
}

/** UTF-8 has no half of a surrogate pair. */
function replaceUnpaired(value: string): string {
  return Buffer.from(value).toString()
}

function readAnswer(answer: GatewayAnswer): SendOutcome {
  if (!isSuccess(answer)) return { kind: 'refused', reason: describeAnswer(answer) }
  const id = findId(answer)
  return { kind: 'accepted', messageIds: id === null ? [] : [id] }
}

/** Null: the answer has none in a field that we know. */
function findId(answer: GatewayAnswer): string | null {
  const object = parseAnswerObject(answer)
  if (object === null) return null
  for (const field of ID_FIELDS) {
    const value = object[field]
    // A greater number has lost digits.
    const id = Number.isSafeInteger(value) ? String(value) : value
    if (typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH) return id
  }
  return null
}

function describeAnswer({ status, text }: GatewayAnswer): string {
  return text === '' ? `answered ${status}` : `answered ${status}: ${text}`
}
