/** Rows of the section "Inbound email". `{mail}` was received before: see the test file. */
import { type Resource, reads, sends, writes } from '../support/row.js'
import {
  boolean,
  data,
  equals,
  filledText,
  freeObject,
  integer,
  list,
  matches,
  nullable,
  number,
  record,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

const listed = {
  id: uuid,
  from: matches(/@/),
  from_name: text,
  to: list(matches(/@/)),
  cc: nullable(list(matches(/@/))),
  subject: text,
  has_html: boolean,
  has_text: boolean,
  attachment_count: integer,
  received_at: timestamp,
}
const status = equals('received', 'processed', 'failed')
const spam = { spam_status: nullable(equals('clean', 'spam', 'suspicious')), spam_score: nullable(number) }
const item = record(listed, { status, ...spam })
const word = matches(/^[a-z]+$/)

const single = record(
  {
    ...listed,
    html: nullable(text),
    text: nullable(text),
    attachments: list(record({ id: filledText, filename: filledText, contentType: text, size: integer })),
    ...spam,
    spf_result: equals('pass', 'fail', 'neutral'),
    dkim_result: word,
    dmarc_result: word,
  },
  {
    status,
    envelope_from: text,
    envelope_to: list(matches(/@/), { atLeast: 1 }),
    message_id: nullable(text),
    headers: list(record({ name: filledText, value: text })),
    authentication: freeObject,
    spam_report: list(record({ name: filledText, score: number, description: text })),
    processed_at: nullable(timestamp),
  },
)

const attachment = record({
  id: filledText,
  filename: filledText,
  content_type: text,
  content_disposition: equals('attachment', 'inline'),
  content_id: nullable(text),
  size: integer,
  download_url: matches(/^https:\/\/mail\.service\.test\//),
  expires_at: timestamp,
})

export const inbound: Resource = {
  name: 'Inbound email',
  rows: [
    {
      row: 'GET /v1/inbound',
      who: reads,
      cases: [
        {
          says: 'newest first',
          shape: data(list(item, { exactly: 1 })),
          holds: { 'data.0.id': '{mail}', 'data.0.attachment_count': 2 },
        },
        { says: 'by status', query: { status: 'processed' }, shape: data(list(item, { exactly: 1 })) },
        { says: 'of another status', query: { status: 'failed' }, holds: { data: [] } },
        { says: 'limit and offset', query: { limit: '1', offset: '1' }, holds: { data: [] } },
        ...['0', '101', 'all'].map((limit) => ({
          says: `limit ${limit}`,
          query: { limit },
          refused: { code: 'validation_error', fields: ['limit'] },
        })),
        {
          says: 'a status that there is not',
          query: { status: 'lost' },
          refused: { code: 'validation_error', fields: ['status'] },
        },
        { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
      ],
    },
    {
      row: 'GET /v1/inbound/:id',
      who: reads,
      cases: [
        {
          says: 'the record with its bodies and what was found of it',
          id: '{mail}',
          shape: single,
          holds: {
            from: 'ann@b.test',
            from_name: 'Ann',
            status: 'processed',
            dkim_result: 'none',
            dmarc_result: 'none',
            html: /<p>/,
          },
        },
        { says: "another workspace's", id: '{mail}', as: 'foreign', refused: { code: 'not_found', id: '{mail}' } },
        { says: 'no id at all', id: 'x', refused: { code: 'not_found', id: 'x' } },
      ],
    },
    {
      row: 'GET /v1/inbound/:id/attachments',
      who: reads,
      cases: [
        {
          says: 'with links that are signed',
          id: '{mail}',
          shape: data(list(attachment, { exactly: 2 })),
          holds: {
            'data.0.filename': 'a.pdf',
            'data.0.content_disposition': 'attachment',
            'data.0.content_id': null,
            'data.1.content_disposition': 'inline',
            'data.1.content_id': /logo/,
          },
        },
        { says: 'an unknown id', id: '{unknown}', refused: { code: 'not_found', id: '{unknown}' } },
      ],
    },
    {
      row: 'POST /v1/inbound/:id/reply',
      who: sends,
      cases: [
        {
          says: 'text is enough',
          id: '{mail}',
          body: { text: 'Thank you.' },
          shape: record({ success: equals(true), messageId: matches(/^<.+@.+>$/), emailId: uuid }),
          keep: { reply: 'emailId' },
        },
        { says: 'HTML is enough', id: '{mail}', body: { html: '<p>Thank you.</p>' }, holds: { success: true } },
        {
          says: 'it is an email from where the mail was sent to, in its thread',
          request: 'GET /v1/emails/:id',
          id: '{reply}',
          holds: {
            from: 'info@home.test',
            to: ['ann@b.test'],
            'headers.In-Reply-To': /b\.test>/,
            'headers.References': /b\.test>/,
          },
        },
        { says: 'neither', id: '{mail}', body: {}, refused: { code: 'missing_required_field', fields: ['html'] } },
        {
          says: 'an unknown id',
          id: '{unknown}',
          body: { text: 'x' },
          refused: { code: 'not_found', id: '{unknown}' },
        },
      ],
    },
    {
      row: 'DELETE /v1/inbound/:id',
      who: writes,
      cases: [
        { says: "another workspace's", id: '{mail}', as: 'foreign', refused: { code: 'not_found', id: '{mail}' } },
        {
          says: 'it is gone',
          id: '{mail}',
          shape: record({ deleted: equals(true), id: uuid }),
          holds: { id: '{mail}' },
        },
        {
          says: 'for good',
          request: 'GET /v1/inbound/:id',
          id: '{mail}',
          refused: { code: 'not_found', id: '{mail}' },
        },
        {
          says: 'with its attachments',
          request: 'GET /v1/inbound/:id/attachments',
          id: '{mail}',
          refused: { code: 'not_found', id: '{mail}' },
        },
      ],
    },
  ],
}
