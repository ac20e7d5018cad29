/** The row POST /v1/emails, and the rules for sending. */
import { type Row, sends } from '../support/row.js'
import { equals, integer, list, matches, record, timestamp, uuid } from '../support/shapes.js'

export const plain = { from: 'app@a.test', subject: 'Hello', text: 'A line.' }
const html = { from: 'App <app@a.test>', subject: 'Hello', html: '<p>A line.</p>' }
export const nested = {
  from: { address: 'app@a.test', name: 'App' },
  to: [{ email_address: { address: 'bob@b.test' } }],
  subject: 'Hello',
  htmlbody: '<p>A line.</p>',
}

const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `b${at}@b.test`)

/** The document names them beside the rows. */
export const recipientCounts = record({
  ...{ queued: integer, sent: integer, delivered: integer, bounced: integer, failed: integer },
  ...{ suppressed: integer, cancelled: integer, complained: integer },
})
const made = {
  ...{ id: uuid, from: equals('app@a.test'), to: list(matches(/@/), { atLeast: 1 }), created_at: timestamp },
  recipient_counts: recipientCounts,
}
export const createdEmail = record(made)
const scheduled = record({ ...made, scheduled_for: timestamp, status: equals('scheduled') })
const filtered = record({ ...made, suppressed: list(matches(/@/), { atLeast: 1 }), status: equals('queued') })

export const createEmail: Row = {
  row: 'POST /v1/emails',
  who: sends,
  cases: [
    {
      says: 'one recipient, text',
      body: { ...plain, to: 'bob@b.test' },
      status: 201,
      shape: createdEmail,
      keep: { email: 'id' },
    },
    {
      says: 'recipients as a list, HTML',
      body: { ...html, to: ['bob@b.test', 'ann@b.test'] },
      status: 201,
      shape: createdEmail,
    },
    { says: 'the other shape', body: nested, status: 201, shape: createdEmail, holds: { to: ['bob@b.test'] } },
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
      shape: createdEmail,
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
      shape: createdEmail,
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
      holds: { suppressed: ['gone@b.test'], 'recipient_counts.suppressed': 1 },
    },
    {
      says: 'all recipients suppressed',
      body: { ...plain, to: 'gone@b.test' },
      refused: {
        code: 'all_recipients_suppressed',
        details: record({ suppressed: list(equals('gone@b.test'), { exactly: 1 }) }),
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
      says: 'an unknown field',
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
      body: { ...plain, to: many(30), cc: many(21) },
      refused: { code: 'validation_error', fields: ['to'] },
    },
    {
      says: 'a template that there is not',
      body: { from: 'app@a.test', to: 'bob@b.test', template_id: '{unknown}' },
      refused: { code: 'template_not_found', id: '{unknown}' },
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
