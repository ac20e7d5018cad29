/** Rows of the section "Emails". */
import { type Resource, type Row, reads, readsOwn, sends } from '../support/row.js'
import {
  boolean,
  data,
  equals,
  filledText,
  freeObject,
  inOrder,
  integer,
  list,
  matches,
  nullable,
  pages,
  record,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

import { createdEmail, createEmail, nested, plain, recipientCounts } from './emails-create.js'

const failedItem = record({ error: filledText, index: integer })

const status = equals(
  ...['queued', 'scheduled', 'sent', 'delivered', 'bounced', 'failed', 'complained'],
  // Decided where the document leaves it open.
  'cancelled',
)
const limitItem = record({
  id: uuid,
  from_email: matches(/@/),
  from_name: text,
  to_emails: list(matches(/@/)),
  subject: text,
  status,
  recipient_counts: recipientCounts,
  created_at: timestamp,
  sent_at: nullable(timestamp),
})
const pageItem = record({
  id: uuid,
  from: matches(/@/),
  to: list(matches(/@/)),
  subject: text,
  status,
  recipient_counts: recipientCounts,
  created_at: timestamp,
})

const moment = nullable(timestamp)
const attempt = record({
  ...{ number: integer, at: timestamp, duration_ms: integer, mx: nullable(text), tls: nullable(text) },
  ...{ outcome: equals('delivered', 'sent', 'deferred', 'bounced', 'failed'), reason: nullable(text), response: text },
  next_attempt_at: moment,
})
const recipient = record(
  {
    email: matches(/@/),
    status: equals('scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'suppressed', 'cancelled'),
    attempts: integer,
    last_response: nullable(text),
    mx: nullable(text),
    next_attempt_at: moment,
    delivered_at: moment,
  },
  { attempt_log: list(attempt) },
)
const single = record({
  id: uuid,
  message_id: matches(/^<.+@.+>$/),
  from: matches(/@/),
  ...{ to: list(text), cc: list(text), bcc: list(text), reply_to: list(text) },
  subject: text,
  html: nullable(text),
  text: nullable(text),
  headers: freeObject,
  tags: list(record({ name: filledText, value: filledText })),
  attachments: list(record({ filename: nullable(text), content_type: text, size: integer })),
  tracking: record({ open: boolean, click: boolean }),
  priority: equals('high', 'normal', 'low'),
  template_id: nullable(uuid),
  status,
  recipient_counts: recipientCounts,
  created_at: timestamp,
  ...{ scheduled_for: moment, sent_at: moment, delivered_at: moment, opened_at: moment, clicked_at: moment },
  bounced_at: moment,
  recipients: list(recipient, { atLeast: 1 }),
})

const lists: Row = {
  row: 'GET /v1/emails',
  who: reads,
  cases: [
    { says: 'ten, newest first', shape: data(list(limitItem, { atLeast: 5 })) },
    { says: 'limit and offset', query: { limit: '2', offset: '1' }, shape: data(list(limitItem, { exactly: 2 })) },
    { says: 'behind the last', query: { offset: '100000' }, shape: record({ data: list(limitItem, { exactly: 0 }) }) },
    {
      says: 'the page form',
      query: { page: '1' },
      shape: pages(pageItem),
      holds: { 'meta.page': 1, 'meta.page_size': 50 },
    },
    { says: 'per_page alone', query: { per_page: '3' }, shape: pages(pageItem), holds: { 'meta.page_size': 3 } },
    {
      says: 'status in the page form',
      query: { page: '1', status: 'bounced' },
      shape: pages(pageItem),
      holds: { data: [], 'meta.total': 0 },
    },
    { says: 'status in the limit form', query: { status: 'scheduled' }, shape: data(list(limitItem, { exactly: 1 })) },
    ...['0', '101', '-1', '1.5', 'many'].map((limit) => ({
      says: `limit ${limit}`,
      query: { limit },
      refused: { code: 'validation_error', fields: ['limit'] },
    })),
    { says: 'per_page 101', query: { per_page: '101' }, refused: { code: 'validation_error', fields: ['per_page'] } },
    { says: 'page 0', query: { page: '0' }, refused: { code: 'validation_error', fields: ['page'] } },
    { says: 'a negative offset', query: { offset: '-1' }, refused: { code: 'validation_error', fields: ['offset'] } },
    {
      says: 'a status that there is not',
      query: { status: 'lost' },
      refused: { code: 'validation_error', fields: ['status'] },
    },
    { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
  ],
}

const one: Row = {
  row: 'GET /v1/emails/:id',
  who: readsOwn,
  cases: [
    { says: 'the record', id: '{email}', shape: single, holds: { id: '{email}', 'recipients.0.email': 'bob@b.test' } },
    {
      says: 'delivered, in time',
      id: '{email}',
      shape: single,
      holds: { status: 'delivered', 'recipients.0.status': 'delivered' },
      until: true,
    },
    {
      says: 'all that was sent',
      id: '{full}',
      shape: single,
      holds: {
        ...{ cc: ['ann@b.test'], bcc: ['carl@b.test'], reply_to: ['help@a.test'], priority: 'high' },
        ...{ html: /A line/, text: /A line/, headers: { 'X-Campaign': 'spring' } },
        tags: [{ name: 'campaign', value: 'spring' }],
        tracking: { open: false, click: true },
        'attachments.0': { filename: 'a.txt', content_type: 'text/plain', size: 5 },
        'attachments.1.content_type': 'application/octet-stream',
      },
    },
    {
      says: 'of a scheduled one',
      id: '{scheduled}',
      shape: single,
      holds: { status: 'scheduled', scheduled_for: '{soon}' },
    },
    {
      says: 'what this key has sent',
      request: 'POST /v1/emails',
      as: 'send',
      body: { ...plain, to: 'bob@b.test' },
      status: 201,
      keep: { own: 'id' },
    },
    { says: 'is read by it', id: '{own}', as: 'send', shape: single },
    {
      says: 'and what others have sent is not',
      id: '{email}',
      as: 'send',
      refused: { code: 'email_not_found', id: '{email}' },
    },
    { says: "another workspace's", id: '{email}', as: 'foreign', refused: { code: 'email_not_found', id: '{email}' } },
    { says: 'no id at all', id: 'x', refused: { code: 'email_not_found', id: 'x' } },
  ],
}

const batch: Row = {
  row: 'POST /v1/emails/batch',
  who: sends,
  cases: [
    {
      says: 'records and errors in the order of the request',
      body: [
        { ...plain, to: 'bob@b.test' },
        { ...plain, from: 'app@stranger.test', to: 'bob@b.test' },
        nested,
        { to: 'bob' },
      ],
      shape: record({
        data: inOrder(createdEmail, failedItem, createdEmail, failedItem),
        success_count: equals(2),
        error_count: equals(2),
      }),
      holds: { 'data.1.index': 1, 'data.3.index': 3, 'data.2.to': ['bob@b.test'] },
    },
    { says: 'none', body: [], refused: { code: 'validation_error', fields: [''] } },
    {
      says: '101',
      body: Array.from({ length: 101 }, () => ({ ...plain, to: 'bob@b.test' })),
      refused: { code: 'validation_error', fields: [''] },
    },
    { says: 'no list', body: { ...plain, to: 'bob@b.test' }, refused: { code: 'validation_error', fields: [''] } },
  ],
}

/** Decided where the document leaves it open. */
const changes: readonly Row[] = [
  {
    row: 'PATCH /v1/emails/:id',
    who: sends,
    cases: [
      {
        says: 'another time',
        id: '{scheduled}',
        body: { scheduled_for: '{later}' },
        shape: single,
        holds: { scheduled_for: '{later}' },
      },
      {
        says: 'no time',
        id: '{scheduled}',
        body: {},
        refused: { code: 'missing_required_field', fields: ['scheduled_for'] },
      },
      {
        says: 'not scheduled any more',
        id: '{email}',
        body: { scheduled_for: '{later}' },
        refused: { code: 'conflict' },
      },
      {
        says: "another workspace's",
        id: '{scheduled}',
        as: 'foreign',
        body: { scheduled_for: '{later}' },
        refused: { code: 'email_not_found', id: '{scheduled}' },
      },
    ],
  },
  {
    row: 'POST /v1/emails/:id/cancel',
    who: sends,
    cases: [
      { says: 'it is not sent', id: '{scheduled}', shape: single, holds: { status: 'cancelled' } },
      { says: 'again', id: '{scheduled}', refused: { code: 'conflict' } },
      { says: 'too late', id: '{email}', refused: { code: 'conflict' } },
    ],
  },
  {
    row: 'GET /v1/emails/:id/raw',
    who: readsOwn,
    cases: [
      { says: 'the message', id: '{email}', responseHeaders: { 'content-type': /^message\/rfc822/ } },
      { says: 'an unknown id', id: '{unknown}', refused: { code: 'email_not_found', id: '{unknown}' } },
    ],
  },
]

export const emails: Resource = { name: 'Emails', rows: [createEmail, lists, one, batch, ...changes] }
