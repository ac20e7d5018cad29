/**
 * Speaks to gateways that take a body of the operator's making: JSON, XML or a form, with placeholders for what
 * differs.
 *
 * It fills in `{to}`, `{text}`, `{from}`, `{id}` and `{receipt_url}` in one pass, so a text that contains `{to}`
 * stays as it is. It escapes each value for its place: within the quotes of a JSON string, in the text or a quoted
 * attribute of XML, in the value of a form. It sends everything else of the template unchanged. `template-answer.ts`
 * reads the answers.
 */
import type { SmsMessage } from '../provider.js'
import { buildBasicAuthorization, type HttpStyle } from './http-style.js'
import { describeTemplateAnswer, readTemplateAnswer } from './template-answer.js'

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

export function createTemplateStyle(settings: TemplateSettings): HttpStyle {
  const { body_template: template, sender } = settings
  const form = formOf(template)
  const headers = { 'content-type': form.type, ...buildAuthorization(settings) }
  return {
    buildRequest: (message) => ({ headers, body: fillTemplate(template, form, valuesOf(message, sender)) }),
    readAnswer: readTemplateAnswer,
    describeAnswer: describeTemplateAnswer,
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
 * Writes a line feed as a reference, because it would become a space in an attribute. What XML 1.0 does not allow
 * (section 2.2) becomes U+FFFD.
 */
function toReference(char: string): string {
  return /[\t\n\r\x7f-\x9f]/.test(char) ? `&#${char.charCodeAt(0)};` : '\ufffd'
}

function escapeFormValue(value: string): string {
  return encodeURIComponent(replaceUnpaired(value)).replaceAll('%20', '+')
}

/** Replaces half surrogate pairs, because UTF-8 has none. */
function replaceUnpaired(value: string): string {
  return Buffer.from(value).toString()
}
