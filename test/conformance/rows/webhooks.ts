/** Rows of the section "Webhooks". */
import { administrates, type Resource, type Row, readsSettings } from '../support/row.js'
import {
  boolean,
  cursorPage,
  data,
  equals,
  freeObject,
  integer,
  list,
  matches,
  nullable,
  record,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

const form = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
const webhookId = matches(new RegExp(`^wh_${form}`))
const secret = matches(/^whsec_[A-Za-z0-9+/]{43}=$/)
const eventType = matches(/^(?:email|domain)\.[a-z]+$/)
const status = equals('pending', 'delivered', 'failed')

const fields = { id: webhookId, url: matches(/^https?:/), events: list(eventType), created_at: timestamp }
const settings = {
  format: equals('posthorn', 'resend', 'postmark', 'sendgrid', 'mailgun', 'raw'),
  content: equals('none', 'parsed', 'raw'),
  headers: freeObject,
  verification_key: nullable(matches(/^[A-Za-z0-9+/]{100,}=*$/)),
}
const created = record({ ...fields, ...settings, signing_secret: secret })
const webhook = record(
  {
    ...fields,
    ...settings,
    enabled: boolean,
    updated_at: timestamp,
    last_delivery: nullable(record({ status, at: timestamp, response_status: nullable(integer) })),
  },
  { disabled_reason: nullable(equals('gone', 'failing')), failing_since: nullable(timestamp) },
)
const ofDelivery = {
  id: uuid,
  event_id: matches(new RegExp(`^evt_${form}`)),
  type: text,
  status,
  attempts: integer,
  next_attempt_at: nullable(timestamp),
  response_status: nullable(integer),
  response_body: nullable(text),
  created_at: timestamp,
  delivered_at: nullable(timestamp),
}
const delivery = record(ofDelivery, { error: nullable(text) })
const shownDelivery = record(
  { ...ofDelivery, request: nullable(record({ content_type: text, body: text })) },
  { error: nullable(text) },
)

const url = 'https://hooks.example/posthorn'
const badUrl = (says: string, wrong: string): Row['cases'][number] => ({
  says,
  body: { url: wrong, events: ['email.sent'] },
  refused: { code: 'validation_error', fields: ['url'] },
})
const unknown = (body?: object): Row['cases'][number] => ({
  says: 'an unknown id',
  id: 'wh_{unknown}',
  ...(body === undefined ? {} : { body }),
  refused: { code: 'webhook_not_found', id: 'wh_{unknown}' },
})
const foreign = (body?: object): Row['cases'][number] => ({
  says: "another workspace's",
  id: '{webhook}',
  as: 'foreign',
  ...(body === undefined ? {} : { body }),
  refused: { code: 'webhook_not_found', id: '{webhook}' },
})

const create: Row = {
  row: 'POST /v1/webhooks',
  who: administrates,
  cases: [
    {
      says: 'the secret is in this answer',
      body: { url, events: ['email.delivered', 'email.bounced'] },
      status: 201,
      shape: created,
      holds: { url, events: ['email.delivered', 'email.bounced'] },
      keep: { webhook: 'id' },
    },
    {
      says: 'every type that there is, over http, at a port above 1023',
      body: {
        url: 'http://hooks.example:8080/',
        events: [
          ...['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'received'].map(
            (word) => `email.${word}`,
          ),
          ...['queued', 'deferred', 'failed', 'unsubscribed'].map((word) => `email.${word}`),
          ...['domain.verified', 'domain.failed'],
        ],
      },
      status: 201,
      shape: created,
      keep: { all: 'id' },
    },
    {
      says: 'without anything',
      body: {},
      refused: { code: 'missing_required_field', fields: ['url', 'events'] },
    },
    { says: 'no type', body: { url, events: [] }, refused: { code: 'validation_error', fields: ['events'] } },
    {
      says: 'an unknown type',
      body: { url, events: ['email.sent', 'email.eaten'] },
      refused: { code: 'validation_error', fields: ['events[1]'] },
    },
    {
      says: 'a type of our own',
      body: { url, events: ['webhook.test'] },
      refused: { code: 'validation_error', fields: ['events[0]'] },
    },
    badUrl('no URL', 'hooks.example'),
    badUrl('another scheme', 'ftp://hooks.example/'),
    {
      says: 'a format that is signed with a key pair, with content and a header field',
      body: { url, events: ['email.received'], format: 'sendgrid', content: 'raw', headers: { 'X-Token': 'secret' } },
      status: 201,
      shape: created,
      holds: { format: 'sendgrid', content: 'raw', headers: { 'X-Token': '***' } },
      keep: { signed: 'id' },
    },
    {
      says: 'credentials in the URL',
      body: { url: 'https://user:password@hooks.example/', events: ['email.sent'] },
      status: 201,
      shape: created,
      holds: { url: 'https://***:***@hooks.example/' },
    },
    {
      says: 'an unknown format and an unknown content',
      body: { url, events: ['email.sent'], format: 'carrier', content: 'all' },
      refused: { code: 'validation_error', fields: ['format', 'content'] },
    },
    {
      says: 'a header field that the service sets itself',
      body: { url, events: ['email.sent'], headers: { 'Content-Type': 'text/plain' } },
      refused: { code: 'validation_error', fields: ['headers'] },
    },
    badUrl('a port of another protocol', 'https://hooks.example:25/'),
    badUrl('a private address', 'https://10.0.0.1/'),
    badUrl('loopback', 'http://127.0.0.1:8080/'),
    badUrl('cloud metadata', 'http://169.254.169.254/'),
    badUrl('a name that resolves to a private address', 'https://inside.test/'),
  ],
}

const listAndShow: readonly Row[] = [
  {
    row: 'GET /v1/webhooks',
    who: readsSettings,
    cases: [
      { says: 'never the secret', shape: data(list(webhook, { exactly: 4 })), holds: { 'data.3.id': '{webhook}' } },
      { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
    ],
  },
  {
    row: 'GET /v1/webhooks/:id',
    who: readsSettings,
    cases: [
      {
        says: 'one of them',
        id: '{webhook}',
        shape: webhook,
        holds: { enabled: true, disabled_reason: null, last_delivery: null },
      },
      unknown(),
      foreign(),
    ],
  },
]

const change: Row = {
  row: 'PATCH /v1/webhooks/:id',
  who: administrates,
  cases: [
    {
      says: 'its types',
      id: '{webhook}',
      body: { events: ['email.queued'] },
      shape: webhook,
      holds: { events: ['email.queued'], url },
    },
    {
      says: 'its URL',
      id: '{all}',
      body: { url: 'https://hooks.example/other' },
      shape: webhook,
      holds: { url: 'https://hooks.example/other' },
    },
    { says: 'off', id: '{all}', body: { enabled: false }, shape: webhook, holds: { enabled: false } },
    {
      says: 'a test while it is off',
      request: 'POST /v1/webhooks/:id/test',
      id: '{all}',
      refused: { code: 'conflict' },
    },
    { says: 'and on', id: '{all}', body: { enabled: true }, shape: webhook, holds: { enabled: true } },
    {
      says: 'to no type',
      id: '{webhook}',
      body: { events: [] },
      refused: { code: 'validation_error', fields: ['events'] },
    },
    {
      says: 'to a private address',
      id: '{webhook}',
      body: { url: 'https://192.168.0.1/' },
      refused: { code: 'validation_error', fields: ['url'] },
    },
    unknown({ enabled: false }),
    foreign({ enabled: false }),
  ],
}

const deliveries: readonly Row[] = [
  {
    row: 'POST /v1/webhooks/:id/test',
    who: administrates,
    cases: [
      {
        says: 'a delivery of its own',
        id: '{webhook}',
        shape: record({ delivery_id: uuid }),
        keep: { delivery: 'delivery_id' },
      },
      unknown(),
      foreign(),
    ],
  },
  {
    row: 'GET /v1/webhooks/:id/deliveries',
    who: readsSettings,
    cases: [
      {
        says: 'newest first',
        id: '{webhook}',
        shape: cursorPage(delivery),
        holds: { 'data.0.id': '{delivery}', 'data.0.type': 'webhook.test', has_more: false, next_cursor: null },
      },
      { says: 'failed ones', id: '{webhook}', query: { status: 'failed' }, holds: { data: [] } },
      {
        says: 'in a state that there is not',
        id: '{webhook}',
        query: { status: 'lost' },
        refused: { code: 'validation_error', fields: ['status'] },
      },
      {
        says: 'limit 101',
        id: '{webhook}',
        query: { limit: '101' },
        refused: { code: 'validation_error', fields: ['limit'] },
      },
      unknown(),
      foreign(),
    ],
  },
  {
    row: 'GET /v1/webhooks/:id/deliveries/:deliveryId',
    who: readsSettings,
    cases: [
      {
        says: 'with the body of its requests',
        request: 'GET /v1/webhooks/:id/deliveries/{delivery}',
        id: '{webhook}',
        shape: shownDelivery,
        holds: { id: '{delivery}', type: 'webhook.test', 'request.content_type': 'application/json' },
      },
      {
        says: 'an unknown delivery',
        request: 'GET /v1/webhooks/:id/deliveries/{unknown}',
        id: '{webhook}',
        refused: { code: 'not_found', id: '{unknown}' },
      },
      unknown(),
      foreign(),
    ],
  },
  {
    row: 'POST /v1/webhooks/:id/deliveries/:deliveryId/replay',
    who: administrates,
    cases: [
      {
        says: 'once more',
        request: 'POST /v1/webhooks/:id/deliveries/{delivery}/replay',
        id: '{webhook}',
        status: 202,
        shape: record({ delivery_id: uuid }),
      },
      {
        says: 'an unknown delivery',
        request: 'POST /v1/webhooks/:id/deliveries/{unknown}/replay',
        id: '{webhook}',
        refused: { code: 'not_found', id: '{unknown}' },
      },
      {
        says: 'a delivery of another webhook',
        request: 'POST /v1/webhooks/:id/deliveries/{delivery}/replay',
        id: '{all}',
        refused: { code: 'not_found', id: '{delivery}' },
      },
      unknown(),
      foreign(),
    ],
  },
  {
    row: 'POST /v1/webhooks/:id/replay',
    who: administrates,
    cases: [
      {
        says: 'nothing has happened in that time',
        id: '{webhook}',
        body: { from: '{soon}', to: '{later}' },
        status: 202,
        shape: record({ count: integer }),
        holds: { count: 0 },
      },
      {
        says: 'an end before the start',
        id: '{webhook}',
        body: { from: '{later}', to: '{soon}' },
        refused: { code: 'validation_error', fields: ['to'] },
      },
      {
        says: 'a type that the webhook does not have',
        id: '{webhook}',
        body: { from: '{soon}', to: '{later}', types: ['email.opened'] },
        refused: { code: 'validation_error', fields: ['types'] },
      },
      { says: 'without a range', id: '{webhook}', body: {}, refused: { code: 'missing_required_field' } },
      unknown({ from: '{soon}', to: '{later}' }),
      foreign({ from: '{soon}', to: '{later}' }),
    ],
  },
]

const endings: readonly Row[] = [
  {
    row: 'POST /v1/webhooks/:id/rotate-secret',
    who: administrates,
    cases: [{ says: 'a new secret', id: '{webhook}', shape: record({ signing_secret: secret }) }, unknown(), foreign()],
  },
  {
    row: 'DELETE /v1/webhooks/:id',
    who: administrates,
    cases: [
      foreign(),
      { says: 'for good', id: '{webhook}', shape: record({ deleted: equals(true), id: webhookId }) },
      { says: 'once', id: '{webhook}', refused: { code: 'webhook_not_found', id: '{webhook}' } },
      { says: 'no id at all', id: 'x', refused: { code: 'webhook_not_found', id: 'x' } },
    ],
  },
]

export const webhooks: Resource = {
  name: 'Webhooks',
  rows: [create, ...listAndShow, change, ...deliveries, ...endings],
}
