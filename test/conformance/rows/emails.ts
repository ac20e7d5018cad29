/** Rows of the section "Emails", and what contract and interface say of sending. */
import { type Resource, type Row, reads, readsOwn, sends } from '../support/row.js'
import {
  boolean,
  data,
  filledText,
  freeObject,
  inOrder,
  integer,
  is,
  like,
  list,
  nullable,
  pages,
  record,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

const plain = { from: 'app@a.test', subject: 'Hello', text: 'A line.' }
const html = { from: 'App <app@a.test>', subject: 'Hello', html: '<p>A line.</p>' }
const nested = {
  from: { address: 'app@a.test', name: 'App' },
  to: [{ email_address: { address: 'bob@b.test' } }],
  subject: 'Hello',
  htmlbody: '<p>A line.</p>',
}

const made = { id: uuid, from: is('app@a.test'), to: list(like(/@/), { atLeast: 1 }), created_at: timestamp }
const created = record(made)
const scheduled = record({ ...made, scheduled_for: timestamp, status: is('scheduled') })
const filtered = record({ ...made, suppressed: list(like(/@/), { atLeast: 1 }), status: is('queued') })
const failedItem = record({ error: filledText, index: integer })

const status = is(
  ...['queued', 'scheduled', 'sent', 'delivered', 'bounced', 'failed', 'complained'],
  // Decided where the document leaves it open.
  'cancelled',
)
const limitItem = record({
  id: uuid,
  from_email: like(/@/),
  from_name: text,
  to_emails: list(like(/@/)),
  subject: text,
  status,
  created_at: timestamp,
  sent_at: nullable(timestamp),
})
const pageItem = record({
  id: uuid,
  from: like(/@/),
  to: list(like(/@/)),
  subject: text,
  status,
  created_at: timestamp,
})

const moment = nullable(timestamp)
const attempt = record({
  ...{ number: integer, at: timestamp, duration_ms: integer, mx: nullable(text), tls: nullable(text) },
  ...{ outcome: is('delivered', 'sent', 'deferred', 'bounced', 'failed'), reason: nullable(text), response: text },
  next_attempt_at: moment,
})
const recipient = record(
  {
    email: like(/@/),
    status: is('scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'suppressed', 'cancelled'),
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
  message_id: like(/^<.+@.+>$/),
  from: like(/@/),
  ...{ to: list(text), cc: list(text), bcc: list(text), reply_to: list(text) },
  subject: text,
  html: nullable(text),
  text: nullable(text),
  headers: freeObject,
  tags: list(record({ name: filledText, value: filledText })),
  attachments: list(record({ filename: nullable(text), content_type: text, size: integer })),
  tracking: record({ open: boolean, click: boolean }),
  priority: is('high', 'normal', 'low'),
  template_id: nullable(uuid),
  status,
  created_at: timestamp,
  ...{ scheduled_for: moment, sent_at: moment, delivered_at: moment, opened_at: moment, clicked_at: moment },
  bounced_at: moment,
  recipients: list(recipient, { atLeast: 1 }),
})

const post: Row = {
  row: 'POST /v1/emails',
  who: sends,
  cases: [
    {
      says: 'one recipient, text',
      body: { ...plain, to: 'bob@b.test' },
      status: 201,
      shape: created,
      keep: { email: 'id' },
    },
    {
      says: 'recipients as a list, HTML',
      body: { ...html, to: ['bob@b.test', 'ann@b.test'] },
      status: 201,
      shape: created,
    },
    { says: 'the other shape', body: nested, status: 201, shape: created, holds: { to: ['bob@b.test'] } },
    {
      says: 'everything that the table names',
      body: {
        ...{ ...html, to: ['bob@b.test'], text: 'A line.', headers: { 'X-Campaign': 'spring' }, priority: 'high' },
        attachments: [
          { filename: 'a.txt', content: 'aGVsbG8=', content_type: 'text/plain' },
          { filename: 'b.bin', content: 'aGVsbG8=' },
        ],
        tags: [{ name: 'campaign', value: 'spring' }],
        tracking: { open: false, click: true },
        ...{ cc: 'ann@b.test', bcc: ['carl@b.test'], reply_to: 'help@a.test' },
      },
      status: 201,
      shape: created,
      keep: { full: 'id' },
    },
    {
      says: 'scheduled',
      body: { ...plain, to: 'bob@b.test', scheduled_for: '{soon}' },
      status: 201,
      shape: scheduled,
      holds: { scheduled_for: '{soon}' },
      keep: { scheduled: 'id' },
    },
    {
      says: 'scheduled in the past means now',
      body: { ...plain, to: 'bob@b.test', scheduled_for: '2020-01-01T00:00:00+02:00' },
      status: 201,
      shape: created,
    },
    {
      says: 'an address is suppressed',
      request: 'POST /v1/suppressions',
      body: { email: 'gone@b.test' },
      status: 201,
    },
    {
      says: 'suppressed recipients are left out',
      body: { ...plain, to: ['bob@b.test', 'gone@b.test'] },
      status: 201,
      shape: filtered,
      holds: { suppressed: ['gone@b.test'] },
    },
    {
      says: 'all recipients suppressed',
      body: { ...plain, to: 'gone@b.test' },
      refused: {
        code: 'all_recipients_suppressed',
        details: record({ suppressed: list(is('gone@b.test'), { exactly: 1 }) }),
      },
    },
    {
      says: 'an idempotency key',
      body: { ...plain, to: 'bob@b.test' },
      headers: { 'Idempotency-Key': 'once' },
      status: 201,
      keep: { once: 'id' },
    },
    {
      says: 'the same again',
      body: { ...plain, to: 'bob@b.test' },
      headers: { 'Idempotency-Key': 'once' },
      status: 201,
      holds: { id: '{once}' },
    },
    {
      says: 'the same key, another body',
      body: { ...plain, to: 'ann@b.test' },
      headers: { 'Idempotency-Key': 'once' },
      refused: { code: 'conflict' },
    },
    { says: 'without recipients', body: plain, refused: { code: 'missing_required_field', fields: ['to'] } },
    {
      says: 'without anything',
      body: {},
      refused: { code: 'missing_required_field', fields: ['from', 'to', 'subject', 'text'] },
    },
    {
      says: 'a recipient that is no address',
      body: { ...plain, to: ['bob@b.test', 'bob'] },
      refused: { code: 'invalid_email_address', fields: ['to[1]'] },
    },
    {
      says: 'a from in a domain that is not registered',
      body: { ...plain, from: 'app@stranger.test', to: 'bob@b.test' },
      refused: { code: 'invalid_from_address', fields: ['from'] },
    },
    {
      says: "a from in another workspace's domain",
      body: { ...plain, from: 'app@other.test', to: 'bob@b.test' },
      refused: { code: 'invalid_from_address', fields: ['from'] },
    },
    {
      says: 'a priority that there is not',
      body: { ...plain, to: 'bob@b.test', priority: 'urgent' },
      refused: { code: 'validation_error', fields: ['priority'] },
    },
    {
      says: 'more than 30 days ahead',
      body: { ...plain, to: 'bob@b.test', scheduled_for: '{too_late}' },
      refused: { code: 'validation_error', fields: ['scheduled_for'] },
    },
    {
      says: 'a field that nobody knows',
      body: { ...plain, to: 'bob@b.test', colour: 'red' },
      refused: { code: 'validation_error', fields: ['colour'] },
    },
    {
      says: 'a header of ours',
      body: { ...plain, to: 'bob@b.test', headers: { Sender: 'x@b.test' } },
      refused: { code: 'validation_error', fields: ['headers.Sender'] },
    },
    {
      says: 'a line break in the subject',
      body: { ...plain, to: 'bob@b.test', subject: 'a\r\nBcc: x@b.test' },
      refused: { code: 'validation_error', fields: ['subject'] },
    },
    {
      says: '51 recipients',
      body: { ...plain, to: Array.from({ length: 51 }, (_, at) => `b${at}@b.test`) },
      refused: { code: 'validation_error', fields: ['to'] },
    },
    {
      says: 'a template that there is not',
      body: { from: 'app@a.test', to: 'bob@b.test', template_id: '{nobodys}' },
      refused: { code: 'template_not_found', id: '{nobodys}' },
    },
    {
      says: 'a cached file that there is not',
      body: { ...plain, to: 'bob@b.test', attachments: [{ file_cache_key: 'none', name: 'a.txt' }] },
      refused: { code: 'validation_error', fields: ['attachments[0].file_cache_key'] },
    },
    {
      says: 'an attachment over 10 MB',
      body: {
        ...plain,
        to: 'bob@b.test',
        attachments: [{ filename: 'a', content: Buffer.alloc(10_485_761).toString('base64') }],
      },
      refused: { code: 'attachment_too_large' },
    },
    { says: 'a body over 22 MB', body: Buffer.alloc(22 * 1_048_576 + 1, 32), refused: { code: 'payload_too_large' } },
  ],
}

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
    { says: 'nothing of it for others', as: 'stranger', holds: { data: [] } },
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
    { says: "another workspace's", id: '{email}', as: 'stranger', refused: { code: 'email_not_found', id: '{email}' } },
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
        data: inOrder(created, failedItem, created, failedItem),
        success_count: is(2),
        error_count: is(2),
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
        as: 'stranger',
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
      { says: 'of nobody', id: '{nobodys}', refused: { code: 'email_not_found', id: '{nobodys}' } },
    ],
  },
]

export const emails: Resource = { name: 'Emails', rows: [post, lists, one, batch, ...changes] }
