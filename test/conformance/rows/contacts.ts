/** Rows of the section "Contacts". The audiences of `audiences.ts` exist. */
import { type Resource, type Row, readsSettings, writes } from '../support/row.js'
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
  pages,
  record,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

const contactFields = {
  id: uuid,
  email: matches(/@/),
  first_name: nullable(text),
  last_name: nullable(text),
  audience_id: nullable(uuid),
  subscribed: boolean,
  metadata: freeObject,
  created_at: timestamp,
}
const createdContact = record(contactFields)
const contact = record({ ...contactFields, updated_at: timestamp })

const contactRows: readonly Row[] = [
  {
    row: 'POST /v1/contacts',
    who: writes,
    cases: [
      {
        says: 'an address is enough',
        body: { email: 'ann@c.test' },
        status: 201,
        shape: createdContact,
        holds: { email: 'ann@c.test', subscribed: true, audience_id: null, metadata: {} },
        keep: { contact: 'id' },
      },
      {
        says: 'with all that the table names',
        body: {
          email: 'bob@c.test',
          first_name: 'Bob',
          last_name: 'B.',
          audience_id: '{audience}',
          subscribed: false,
          metadata: { plan: 'pro', seats: 3 },
        },
        status: 201,
        shape: createdContact,
        holds: {
          first_name: 'Bob',
          last_name: 'B.',
          audience_id: '{audience}',
          subscribed: false,
          metadata: { plan: 'pro', seats: 3 },
        },
        keep: { bob: 'id' },
      },
      {
        says: 'the same address in the same audience',
        body: { email: 'bob@c.test', audience_id: '{audience}' },
        refused: { code: 'conflict' },
      },
      {
        says: 'without an address',
        body: { first_name: 'Ann' },
        refused: { code: 'missing_required_field', fields: ['email'] },
      },
      {
        says: 'what is no address',
        body: { email: 'ann' },
        refused: { code: 'invalid_email_address', fields: ['email'] },
      },
      {
        says: 'an audience that there is not',
        body: { email: 'x@c.test', audience_id: '{unknown}' },
        refused: { code: 'audience_not_found', id: '{unknown}' },
      },
      {
        says: "another workspace's audience",
        as: 'foreign',
        body: { email: 'x@c.test', audience_id: '{audience}' },
        refused: { code: 'audience_not_found', id: '{audience}' },
      },
      {
        says: 'metadata that is no object',
        body: { email: 'x@c.test', metadata: 'x' },
        refused: { code: 'validation_error', fields: ['metadata'] },
      },
      {
        says: 'an unknown field',
        body: { email: 'x@c.test', colour: 'red' },
        refused: { code: 'validation_error', fields: ['colour'] },
      },
    ],
  },
  {
    row: 'GET /v1/contacts',
    who: readsSettings,
    cases: [
      { says: 'all of the workspace', shape: data(list(contact, { exactly: 2 })) },
      {
        says: 'of an audience',
        query: { audience_id: '{audience}' },
        shape: data(list(contact, { exactly: 1 })),
        holds: { 'data.0.email': 'bob@c.test' },
      },
      { says: 'limit and offset', query: { limit: '1', offset: '1' }, shape: data(list(contact, { exactly: 1 })) },
      { says: 'behind the last', query: { offset: '1000' }, holds: { data: [] } },
      {
        says: 'the page form',
        query: { page: '1' },
        shape: pages(contact),
        holds: { meta: { total: 2, page: 1, page_size: 50, pages: 1 } },
      },
      {
        says: 'per_page alone, of an audience',
        query: { per_page: '1', audience_id: '{audience}' },
        shape: pages(contact),
        holds: { 'meta.total': 1 },
      },
      ...['0', '101', 'all'].map((limit) => ({
        says: `limit ${limit}`,
        query: { limit },
        refused: { code: 'validation_error', fields: ['limit'] },
      })),
      { says: 'per_page 101', query: { per_page: '101' }, refused: { code: 'validation_error', fields: ['per_page'] } },
      { says: 'page 0', query: { page: '0' }, refused: { code: 'validation_error', fields: ['page'] } },
      { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
    ],
  },
  {
    row: 'GET /v1/contacts/:id',
    who: readsSettings,
    cases: [
      { says: 'the record', id: '{bob}', shape: contact, holds: { id: '{bob}' } },
      { says: "another workspace's", id: '{bob}', as: 'foreign', refused: { code: 'contact_not_found', id: '{bob}' } },
      { says: 'no id at all', id: 'x', refused: { code: 'contact_not_found', id: 'x' } },
    ],
  },
  {
    row: 'PATCH /v1/contacts/:id',
    who: writes,
    cases: [
      {
        says: 'only what is named changes',
        id: '{bob}',
        body: { subscribed: true },
        shape: contact,
        holds: { subscribed: true, first_name: 'Bob' },
      },
      {
        says: 'what is no address',
        id: '{bob}',
        body: { email: 'bob' },
        refused: { code: 'invalid_email_address', fields: ['email'] },
      },
      {
        says: 'an unknown id',
        id: '{unknown}',
        body: { subscribed: true },
        refused: { code: 'contact_not_found', id: '{unknown}' },
      },
    ],
  },
  {
    row: 'POST /v1/contacts/bulk',
    who: writes,
    cases: [
      ...(['unsubscribe', 'subscribe'] as const).map((operation) => ({
        says: `${operation}, unknown ids are skipped`,
        body: { contact_ids: ['{bob}', '{contact}', '{unknown}'], operation },
        shape: record({ operation: equals(operation), affected: integer, skipped: integer, message: filledText }),
      })),
      {
        says: 'move to another audience',
        body: { contact_ids: ['{bob}', '{unknown}'], operation: 'move', audience_id: '{offers}' },
        holds: { operation: 'move', affected: 1, skipped: 1 },
      },
      { says: 'it has moved', request: 'GET /v1/contacts/:id', id: '{bob}', holds: { audience_id: '{offers}' } },
      {
        says: "nothing of another workspace's",
        as: 'foreign',
        body: { contact_ids: ['{bob}'], operation: 'delete' },
        holds: { affected: 0, skipped: 1 },
      },
      {
        says: 'move to nowhere',
        body: { contact_ids: ['{bob}'], operation: 'move' },
        refused: { code: 'missing_required_field', fields: ['audience_id'] },
      },
      {
        says: 'move to what there is not',
        body: { contact_ids: ['{bob}'], operation: 'move', audience_id: '{unknown}' },
        refused: { code: 'audience_not_found', id: '{unknown}' },
      },
      {
        says: 'an operation that there is not',
        body: { contact_ids: ['{bob}'], operation: 'sell' },
        refused: { code: 'validation_error', fields: ['operation'] },
      },
      {
        says: 'without anything',
        body: {},
        refused: { code: 'missing_required_field', fields: ['contact_ids', 'operation'] },
      },
    ],
  },
  {
    row: 'DELETE /v1/contacts/:id',
    who: writes,
    cases: [
      {
        says: "another workspace's",
        id: '{contact}',
        as: 'foreign',
        refused: { code: 'contact_not_found', id: '{contact}' },
      },
      {
        says: 'it is gone',
        id: '{contact}',
        shape: record({ success: equals(true), data: record({ id: uuid }) }),
        holds: { 'data.id': '{contact}' },
      },
      { says: 'again', id: '{contact}', refused: { code: 'contact_not_found', id: '{contact}' } },
    ],
  },
  {
    row: 'DELETE /v1/audiences/:id',
    who: writes,
    cases: [
      {
        says: "another workspace's",
        id: '{offers}',
        as: 'foreign',
        refused: { code: 'audience_not_found', id: '{offers}' },
      },
      {
        says: 'it is gone',
        id: '{offers}',
        shape: record({ deleted: equals(true), id: uuid }),
        holds: { id: '{offers}' },
      },
      {
        says: 'and its contacts with it',
        request: 'GET /v1/contacts/:id',
        id: '{bob}',
        refused: { code: 'contact_not_found', id: '{bob}' },
        until: true,
      },
    ],
  },
]

export const contacts: Resource = { name: 'Contacts', rows: contactRows }
