/** Rows of broadcasts, which the document leaves to be decided: drafts, sending, changes of state, one copy as a test. */
import { type Case, type Resource, type Row, readsSettings, writes } from '../support/row.js'
import {
  data,
  equals,
  filledText,
  freeObject,
  integer,
  list,
  nullable,
  number,
  record,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

const counts = { recipients: integer, sent: integer, delivered: integer, bounced: integer, complained: integer }
const rates = record({
  ...{ delivery_rate: number, bounce_rate: number },
  ...{ open_rate: number, click_rate: number, unsubscribe_rate: number },
})
const listed = {
  id: uuid,
  name: filledText,
  audience_id: uuid,
  from: filledText,
  reply_to: list(text),
  subject: nullable(text),
  template_id: nullable(uuid),
  status: equals('draft', 'scheduled', 'sending', 'paused', 'sent', 'cancelled'),
  scheduled_for: nullable(timestamp),
  created_at: timestamp,
  started_at: nullable(timestamp),
  finished_at: nullable(timestamp),
  ...counts,
  unsubscribed: integer,
  unique_opens: integer,
  unique_clicks: integer,
  rates,
}
const more = {
  ...{ updated_at: timestamp, queued: integer, failed: integer, cancelled: integer },
  ...{ waits_until: nullable(timestamp), note: nullable(text), not_opened_of: nullable(uuid) },
}
const broadcast = record(
  { ...listed, html: nullable(text), text: nullable(text) },
  { ...more, blocks: nullable(freeObject) },
)

const draft = {
  name: 'May',
  audience_id: '{subscribers}',
  from: 'News <app@a.test>',
  subject: 'Hello {{first_name|you}}',
  html: '<p>Hello</p>',
}
const notFound = (id: string): Pick<Case, 'refused'> => ({ refused: { code: 'not_found', id } })
const soon = new Date(Date.now() + 24 * 3_600_000).toISOString().replace(/\.\d+Z$/, '.000Z')

/** An id that does not exist, one of another workspace, and no id at all. */
const unknownIds = (body?: object): readonly Case[] => {
  const given = body === undefined ? {} : { body }
  return [
    { says: 'an unknown id', id: '{unknown}', ...given, ...notFound('{unknown}') },
    { says: "another workspace's", id: '{broadcast}', as: 'foreign', ...given, ...notFound('{broadcast}') },
    { says: 'no id at all', id: 'x', ...given, ...notFound('x') },
  ]
}

const createRow: Row = {
  row: 'POST /v1/broadcasts',
  who: writes,
  cases: [
    {
      says: 'an audience with a contact',
      request: 'POST /v1/audiences',
      body: { name: 'Subscribers' },
      status: 201,
      keep: { subscribers: 'id' },
    },
    {
      says: 'its contact',
      request: 'POST /v1/contacts',
      body: { email: 'reader@b.test', audience_id: '{subscribers}' },
      status: 201,
    },
    {
      says: 'an audience without contacts',
      request: 'POST /v1/audiences',
      body: { name: 'Empty' },
      status: 201,
      keep: { empty: 'id' },
    },
    {
      says: 'its own words',
      body: draft,
      status: 201,
      shape: broadcast,
      holds: { status: 'draft', from: 'News <app@a.test>', text: null, recipients: 0, 'rates.open_rate': 0 },
      keep: { broadcast: 'id' },
    },
    {
      says: 'From as an object, addresses for replies',
      body: { ...draft, from: { address: 'app@a.test', name: 'News' }, reply_to: ['bob@b.test'] },
      status: 201,
      shape: broadcast,
      holds: { from: 'News <app@a.test>', reply_to: ['bob@b.test'] },
      keep: { other: 'id' },
    },
    {
      says: 'to nobody',
      body: { ...draft, audience_id: '{empty}' },
      status: 201,
      keep: { toEmpty: 'id' },
    },
    {
      says: 'from a domain that is not there',
      body: { ...draft, from: 'app@elsewhere.test' },
      status: 201,
      keep: { fromElsewhere: 'id' },
    },
    {
      says: 'nothing',
      body: {},
      refused: {
        code: 'missing_required_field',
        fields: ['name', 'audience_id', 'from', 'subject', 'text'],
      },
    },
    {
      says: 'a name of 256 characters',
      body: { ...draft, name: 'x'.repeat(256) },
      refused: { code: 'validation_error', fields: ['name'] },
    },
    {
      says: 'a From that is no address',
      body: { ...draft, from: 'x' },
      refused: { code: 'invalid_email_address', fields: ['from'] },
    },
    {
      says: 'an unknown field',
      body: { ...draft, tracking: { open: false } },
      refused: { code: 'validation_error', fields: ['tracking'] },
    },
    {
      says: 'a template and words',
      body: { ...draft, template_id: '{unknown}' },
      refused: { code: 'validation_error', fields: ['template_id'] },
    },
    {
      says: 'an unknown audience',
      body: { ...draft, audience_id: '{unknown}' },
      refused: { code: 'audience_not_found', id: '{unknown}' },
    },
    {
      says: 'an unknown template',
      body: { ...draft, subject: null, html: null, template_id: '{unknown}' },
      refused: { code: 'template_not_found', id: '{unknown}' },
    },
    {
      says: 'a variable that no contact has',
      body: { ...draft, html: '{{amount}}' },
      refused: { code: 'invalid_template_variables' },
    },
  ],
}

const recordRows: readonly Row[] = [
  {
    row: 'GET /v1/broadcasts',
    who: readsSettings,
    cases: [
      { says: 'newest first, without bodies', shape: data(list(record(listed, more), { exactly: 4 })) },
      {
        says: 'at most as many as asked for',
        query: { limit: '1', offset: '3' },
        shape: data(list(record(listed, more), { exactly: 1 })),
        holds: { 'data.0.id': '{broadcast}' },
      },
      { says: 'limit 101', query: { limit: '101' }, refused: { code: 'validation_error', fields: ['limit'] } },
      { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
    ],
  },
  {
    row: 'GET /v1/broadcasts/:id',
    who: readsSettings,
    cases: [
      { says: 'the record', id: '{broadcast}', shape: broadcast, holds: { id: '{broadcast}', html: '<p>Hello</p>' } },
      ...unknownIds(),
    ],
  },
  {
    row: 'PATCH /v1/broadcasts/:id',
    who: writes,
    cases: [
      {
        says: 'only what is named changes',
        id: '{broadcast}',
        body: { name: 'June', text: 'Hello' },
        shape: broadcast,
        holds: { name: 'June', text: 'Hello', html: '<p>Hello</p>' },
      },
      {
        says: 'no words are left',
        id: '{broadcast}',
        body: { html: null, text: null },
        refused: { code: 'missing_required_field', fields: ['text'] },
      },
      ...unknownIds({ name: 'x' }),
    ],
  },
]

const conflict = (says: string, id: string, body?: object): Case => ({
  ...{ says, id, refused: { code: 'conflict' } },
  ...(body === undefined ? {} : { body }),
})

const sendRow: Row = {
  row: 'POST /v1/broadcasts/:id/send',
  who: writes,
  cases: [
    {
      says: 'an audience without subscribed contacts',
      id: '{toEmpty}',
      refused: { code: 'validation_error', fields: ['audience_id'] },
    },
    {
      says: 'a From that is not verified',
      id: '{fromElsewhere}',
      refused: { code: 'invalid_from_address', fields: ['from'] },
    },
    {
      says: 'more than 30 days ahead',
      id: '{broadcast}',
      body: { scheduled_for: '2990-01-01T00:00:00Z' },
      refused: { code: 'validation_error', fields: ['scheduled_for'] },
    },
    {
      says: 'later',
      id: '{broadcast}',
      body: { scheduled_for: soon },
      status: 202,
      shape: broadcast,
      holds: { status: 'scheduled', scheduled_for: soon },
    },
    conflict('again', '{broadcast}', {}),
    {
      ...conflict('a change after that', '{broadcast}', { name: 'x' }),
      request: 'PATCH /v1/broadcasts/:id',
    },
    {
      says: 'its audience is needed',
      request: 'DELETE /v1/audiences/:id',
      id: '{subscribers}',
      refused: { code: 'conflict' },
    },
    {
      says: 'now, without a body',
      id: '{other}',
      status: 202,
      shape: broadcast,
      holds: { scheduled_for: null, started_at: /Z$/ },
    },
    {
      says: 'it reaches its contact',
      request: 'GET /v1/broadcasts/:id',
      id: '{other}',
      holds: { status: 'sent', recipients: 1, delivered: 1, 'rates.delivery_rate': 100 },
      until: true,
    },
    {
      says: 'the email is listed by its broadcast',
      request: 'GET /v1/emails',
      query: { broadcast_id: '{other}' },
      holds: { 'data.0.id': /^bc-/, 'data.0.status': 'delivered' },
    },
    {
      says: 'the list by an unknown broadcast',
      request: 'GET /v1/emails',
      query: { broadcast_id: '{unknown}' },
      ...notFound('{unknown}'),
    },
    ...unknownIds(),
  ],
}

const actRows: readonly Row[] = [
  {
    row: 'POST /v1/broadcasts/:id/pause',
    who: writes,
    cases: [conflict('one that is not sending', '{broadcast}'), ...unknownIds()],
  },
  {
    row: 'POST /v1/broadcasts/:id/resume',
    who: writes,
    cases: [conflict('one that is not paused', '{broadcast}'), ...unknownIds()],
  },
  {
    row: 'POST /v1/broadcasts/:id/cancel',
    who: writes,
    cases: [
      {
        says: 'a scheduled one',
        id: '{broadcast}',
        shape: broadcast,
        holds: { status: 'cancelled', finished_at: /Z$/ },
      },
      conflict('again', '{broadcast}'),
      conflict('one that was sent', '{other}'),
      ...unknownIds(),
    ],
  },
  {
    row: 'POST /v1/broadcasts/:id/test',
    who: writes,
    probe: { body: { to: 'bob@b.test' } },
    cases: [
      {
        says: 'one copy',
        id: '{other}',
        body: { to: 'bob@b.test' },
        shape: record({ id: uuid, message_id: text, to: equals('bob@b.test') }),
        keep: { copy: 'id' },
      },
      {
        says: 'an ordinary email',
        request: 'GET /v1/emails/:id',
        id: '{copy}',
        holds: { to: ['bob@b.test'], subject: 'Hello you', 'tracking.open': false },
      },
      { says: 'to nobody', id: '{other}', body: {}, refused: { code: 'missing_required_field', fields: ['to'] } },
      {
        says: 'no address',
        id: '{other}',
        body: { to: 'x' },
        refused: { code: 'invalid_email_address', fields: ['to'] },
      },
      ...unknownIds({ to: 'bob@b.test' }),
    ],
  },
  {
    row: 'DELETE /v1/broadcasts/:id',
    who: writes,
    cases: [
      { says: 'an unknown id', id: '{unknown}', ...notFound('{unknown}') },
      { says: "another workspace's", id: '{toEmpty}', as: 'foreign', ...notFound('{toEmpty}') },
      {
        says: 'a draft',
        id: '{toEmpty}',
        shape: record({ deleted: equals(true), id: uuid }),
        holds: { id: '{toEmpty}' },
      },
      { says: 'again', id: '{toEmpty}', ...notFound('{toEmpty}') },
    ],
  },
]

export const broadcasts: Resource = { name: 'Broadcasts', rows: [createRow, ...recordRows, sendRow, ...actRows] }
