/** Decides which facts about an inbound message the process gets that makes the body of its request. */
import { createHmac } from 'node:crypto'
import { parseJson } from '../../../../base/storage/tables/columns.js'
import type { WebhooksTable } from '../../../../base/storage/tables/webhook-tables.js'
import type { InboundEmail } from '../../../../records/messages/inbound/inbound-record.js'
import { EventData } from '../event-data.js'
import { type DeliveredEvent, JSON_TYPE } from '../event-format.js'
import { composeEvent } from '../formats.js'
import { signMailgun } from '../mailgun.js'
import type { BodyFacts, FormFacts } from './body-facts.js'

/** Bytes of the largest message that a request carries. */
export const MAX_MESSAGE = 26_214_400

interface MessageRequest {
  readonly webhook: Pick<WebhooksTable, 'format' | 'content' | 'secret'>
  readonly event: DeliveredEvent
  readonly inbound: InboundEmail
  /** Epoch milliseconds of the attempt. */
  readonly at: number
}

interface BodyPlan {
  readonly facts: BodyFacts
  readonly contentType: string
  /** The body where the message cannot be read. Null means that there can be none. */
  readonly otherwise: string | null
}

export function planBody(request: MessageRequest): BodyPlan {
  switch (request.webhook.format) {
    case 'postmark':
      return planPostmark(request)
    case 'sendgrid':
      return planForm(request, sendgridFields(request), 'email')
    case 'mailgun':
      return planForm(request, mailgunFields(request), 'body-mime')
    default:
      return planDocument(request)
  }
}

function planDocument({ webhook, event, at }: MessageRequest): BodyPlan {
  const { id, type, created_at: createdAt, data } = event
  const formatted = { id, type, createdAt, data, at, secret: webhook.secret, email: null }
  const document = composeEvent(webhook.format, formatted).body.toString()
  const content = webhook.content === 'raw' ? 'raw' : 'parsed'
  const nothing = content === 'raw' ? '"raw":null' : '"html":null,"text":null,"headers":[]'
  return {
    facts: { kind: 'document', document, content },
    contentType: JSON_TYPE,
    otherwise: `${document.slice(0, -2)},${nothing}}}`,
  }
}

function planPostmark({ webhook, event, inbound }: MessageRequest): BodyPlan {
  const data = new EventData(event.data)
  const recipients = parseJson(inbound.envelope_to)
  const fields = {
    MessageStream: 'inbound',
    MessageID: inbound.id,
    OriginalRecipient: recipients[0] ?? '',
    MailboxHash: data.text('plus'),
    Subject: inbound.subject,
    Tag: '',
  }
  const headers = [
    { Name: 'X-Spam-Status', Value: inbound.spam_status === 'spam' ? 'Yes' : 'No' },
    { Name: 'X-Spam-Score', Value: String((inbound.spam_score ?? 0) / 100) },
    { Name: 'Received-SPF', Value: describeSpf(inbound) },
  ]
  const hasRaw = webhook.content === 'raw'
  return { facts: { kind: 'postmark', fields, headers, hasRaw }, contentType: JSON_TYPE, otherwise: null }
}

/** RFC 7208 section 9.1. */
function describeSpf({ spf_result: result, client_address: client, envelope_from: from, helo }: InboundEmail): string {
  const quoted = JSON.stringify(from)
  return `${result} client-ip=${client}; envelope-from=${quoted}; helo=${helo};`
}

type Fields = FormFacts['fields']

function sendgridFields({ inbound }: MessageRequest): Fields {
  const to = parseJson(inbound.envelope_to)
  return [
    ['from', inbound.from_name === '' ? inbound.from_email : `${inbound.from_name} <${inbound.from_email}>`],
    ['to', parseJson(inbound.to_emails).join(', ')],
    ['subject', inbound.subject],
    ['envelope', JSON.stringify({ to, from: inbound.envelope_from })],
    ['sender_ip', inbound.client_address],
    ['SPF', inbound.spf_result],
    ['dkim', inbound.dkim_result],
    ['spam_score', String((inbound.spam_score ?? 0) / 100)],
    ['charsets', '{"to":"UTF-8","from":"UTF-8","subject":"UTF-8"}'],
  ]
}

function mailgunFields({ webhook, event, inbound, at }: MessageRequest): Fields {
  const { timestamp, token, signature } = signMailgun({ id: event.id, at, secret: webhook.secret })
  return [
    ['recipient', parseJson(inbound.envelope_to).join(', ')],
    ['sender', inbound.envelope_from],
    ['from', inbound.from_name === '' ? inbound.from_email : `${inbound.from_name} <${inbound.from_email}>`],
    ['subject', inbound.subject],
    ['timestamp', timestamp],
    ['token', token],
    ['signature', signature],
  ]
}

/** The sender of the message cannot know the boundary, which is the same at each attempt. */
function planForm({ webhook, event }: MessageRequest, fields: Fields, messageField: string): BodyPlan {
  const boundary = createHmac('sha256', webhook.secret).update(`boundary ${event.id}`).digest('hex')
  return {
    facts: { kind: 'form', boundary, fields, messageField },
    contentType: `multipart/form-data; boundary=${boundary}`,
    otherwise: null,
  }
}
