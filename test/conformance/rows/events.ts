/** The list of events, and that of one email. */
import { type Resource, reads, readsOwn } from '../support/row.js'
import {
  boolean,
  cursorPage,
  equals,
  filledText,
  freeObject,
  list,
  matches,
  nullable,
  record,
  timestamp,
  uuid,
} from '../support/shapes.js'

const types = [
  ...['email.queued', 'email.sent', 'email.delivered', 'email.deferred', 'email.bounced', 'email.failed'],
  ...['email.complained', 'email.opened', 'email.clicked', 'email.unsubscribed', 'email.received'],
  'email.suppressed',
  ...['domain.verified', 'domain.failed'],
]
const itemFields = {
  id: matches(/^evt_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
  type: equals(...types),
  created_at: timestamp,
  email_id: nullable(uuid),
  recipient: nullable(matches(/@/)),
  data: freeObject,
}
const item = record(itemFields)
const pageOf = (count: number) =>
  record({ data: list(item, { exactly: count }), has_more: boolean, next_cursor: nullable(matches(/^[\w-]+$/)) })

const bounced = record({
  ...{ email_id: uuid, from: equals('app@a.test'), to: equals('one@gone.test'), subject: equals('s') },
  ...{ tags: record({ campaign: equals('spring') }), bounce_type: equals('hard') },
  ...{ bounce_subtype: filledText, bounce_reason: filledText },
})

const wrongQueries = [
  ['a type that there is not', { type: 'email.lost' }, 'type'],
  ['an internal type', { type: 'webhook.test' }, 'type'],
  ['a cursor that we did not make', { cursor: 'nowhere' }, 'cursor'],
  ['limit 0', { limit: '0' }, 'limit'],
  ['limit 101', { limit: '101' }, 'limit'],
  ['a time without an offset', { from: '2026-11-22T00:00:00' }, 'from'],
  ['an empty time', { from: '2026-11-22T00:00:00Z', to: '2026-11-22T00:00:00Z' }, 'to'],
  ['a field that there is not', { status: 'sent' }, 'status'],
] as const

const refusals = wrongQueries.map(([says, query, field]) => ({
  says,
  query,
  refused: { code: 'validation_error', fields: [field] },
}))

export const events: Resource = {
  name: 'Events',
  rows: [
    {
      row: 'GET /v1/events',
      who: reads,
      cases: [
        {
          says: 'an email that bounces',
          request: 'POST /v1/emails',
          body: {
            ...{ from: 'app@a.test', to: ['one@gone.test', 'two@gone.test'], subject: 's', text: 't' },
            tags: [{ name: 'campaign', value: 'spring' }],
          },
          status: 201,
          keep: { lost: 'id' },
        },
        {
          says: 'the bounce of one recipient, in any case',
          query: { email_id: '{lost}', type: 'email.bounced', recipient: 'ONE@gone.test' },
          shape: cursorPage(record({ ...itemFields, data: bounced })),
          holds: { 'data.0.email_id': '{lost}', 'data.0.recipient': 'one@gone.test', 'data.0.data.email_id': '{lost}' },
          until: true,
        },
        {
          says: 'all of the email',
          query: { email_id: '{lost}' },
          shape: pageOf(4),
          holds: { 'data.2.type': 'email.queued', 'data.3.type': 'email.queued', 'data.3.data.to': 'one@gone.test' },
          until: true,
        },
        { says: 'newest first, 50 at most', shape: cursorPage(item) },
        {
          says: 'a page',
          query: { limit: '3', email_id: '{lost}' },
          shape: pageOf(3),
          holds: { has_more: true },
          keep: { place: 'next_cursor' },
        },
        {
          says: 'the next',
          query: { limit: '3', email_id: '{lost}', cursor: '{place}' },
          shape: pageOf(1),
          holds: { has_more: false, next_cursor: null, 'data.0.data.to': 'one@gone.test' },
        },
        {
          says: 'of a time',
          query: { from: '2000-01-01T00:00:00Z', to: '2001-01-01T00:00:00+01:00' },
          shape: pageOf(0),
        },
        { says: 'of an email that does not exist', query: { email_id: '{unknown}' }, shape: pageOf(0) },
        { says: "of another workspace's email", as: 'foreign', query: { email_id: '{lost}' }, shape: pageOf(0) },
        {
          says: 'of what is no address',
          query: { recipient: 'bob' },
          refused: { code: 'invalid_email_address', fields: ['recipient'] },
        },
        ...refusals,
      ],
    },
    {
      row: 'GET /v1/emails/:id/events',
      who: readsOwn,
      cases: [
        { says: 'newest first', id: '{lost}', shape: pageOf(4), holds: { 'data.3.type': 'email.queued' } },
        { says: 'of a type', id: '{lost}', query: { type: 'email.bounced' }, shape: pageOf(2) },
        { says: 'of a recipient', id: '{lost}', query: { recipient: 'two@gone.test' }, shape: pageOf(2) },
        {
          says: 'an email that a key sent',
          request: 'POST /v1/emails',
          as: 'send',
          body: { from: 'app@a.test', to: 'three@gone.test', subject: 's', text: 't' },
          status: 201,
          keep: { sent: 'id' },
        },
        { says: 'is seen by it', id: '{sent}', as: 'send', shape: cursorPage(item) },
        { says: 'another is not', id: '{lost}', as: 'send', refused: { code: 'email_not_found', id: '{lost}' } },
        {
          says: "another workspace's",
          id: '{lost}',
          as: 'foreign',
          refused: { code: 'email_not_found', id: '{lost}' },
        },
        {
          says: 'another email in the query',
          id: '{lost}',
          query: { email_id: '{sent}' },
          refused: { code: 'validation_error', fields: ['email_id'] },
        },
        ...refusals.map((one) => ({ ...one, id: '{lost}' })),
      ],
    },
  ],
}
