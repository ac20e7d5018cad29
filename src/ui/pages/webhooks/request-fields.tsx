/** The fields of a webhook that say what its requests look like: format, content, header fields. */
import type { VNode } from 'preact'
import type { components } from '../../api/schema.d.ts'
import { SelectField, TextArea } from '../../components/fields.tsx'
import { readLines, readText } from '../../components/form-values.ts'
import { Copy } from '../../components/values.tsx'
import type { Webhook } from './webhook.ts'

type RequestForm = Required<Pick<components['schemas']['WebhookRequest'], 'format' | 'content' | 'headers'>>
type Format = RequestForm['format']
type Content = RequestForm['content']

const formats: Readonly<Record<Format, string>> = {
  posthorn: 'Posthorn',
  resend: 'Resend',
  postmark: 'Postmark',
  sendgrid: 'SendGrid',
  mailgun: 'Mailgun',
  raw: 'The message alone (message/rfc822)',
}

const contents: Readonly<Record<Content, string>> = {
  none: 'Links to the message',
  parsed: 'Links, and its texts and header fields',
  raw: 'Links, and the complete message',
}

export function toFormatName(format: Format): string {
  return formats[format]
}

/** `webhook` is null for a new one. */
export function RequestFields({ webhook }: { readonly webhook: Webhook | null }): VNode {
  const headers = Object.entries(webhook?.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  return (
    <>
      <SelectField
        name="format"
        label="Format"
        options={optionsOf(formats)}
        value={webhook?.format ?? 'posthorn'}
        hint="The service whose requests your program understands. Events that the service does not know are left out."
      />
      <SelectField
        name="content"
        label="Content of inbound mail"
        options={optionsOf(contents)}
        value={webhook?.content ?? 'none'}
      />
      <TextArea
        name="headers"
        label="Header fields"
        value={headers.join('\n')}
        rows={3}
        placeholder="Authorization: Bearer …"
        hint="One on each line, sent with each request. Values are secret: where *** stays, the value stays."
        optional
        mono
      />
    </>
  )
}

export function VerificationKey({ value }: { readonly value: string }): VNode {
  return (
    <p>
      Verification key: <Copy text={value} label="the verification key" />
    </p>
  )
}

export function readRequestForm(values: FormData): RequestForm {
  const chosen = <Word extends string>(name: string, words: Readonly<Record<Word, string>>, otherwise: Word): Word =>
    wordsOf(words).find((word) => word === readText(values, name)) ?? otherwise
  return {
    format: chosen('format', formats, 'posthorn'),
    content: chosen('content', contents, 'none'),
    headers: Object.fromEntries(readLines(values, 'headers').map(splitLine)),
  }
}

/** A line without a colon becomes a field that the server refuses. */
function splitLine(line: string): [string, string] {
  const colon = line.indexOf(':')
  return colon === -1 ? [line, ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
}

function wordsOf<Word extends string>(words: Readonly<Record<Word, string>>): Word[] {
  return Object.keys(words).filter((word): word is Word => word in words)
}

function optionsOf(words: Readonly<Record<string, string>>): { value: string; label: string }[] {
  return Object.entries(words).map(([value, label]) => ({ value, label }))
}
