/** Rows of the section "Suppressions". */
import { type Resource, reads, writes } from '../support/row.js'
import {
  boolean,
  cursorPage,
  equals,
  freeObject,
  list,
  matches,
  nullable,
  record,
  timestamp,
  uuid,
} from '../support/shapes.js'

const reason = equals('hard_bounce', 'spam_complaint', 'manual', 'unsubscribe')
const fields = { id: uuid, email: matches(/@/), reason, created_at: timestamp }
const added = record(fields)
const whole = record({ ...fields, source_email_id: nullable(uuid), metadata: freeObject })
const pageOf = (count: number) =>
  record({ data: list(whole, { exactly: count }), has_more: boolean, next_cursor: nullable(matches(/^[\w-]+$/)) })

export const suppressions: Resource = {
  name: 'Suppressions',
  rows: [
    {
      row: 'POST /v1/suppressions',
      who: writes,
      cases: [
        {
          says: 'by hand',
          body: { email: 'One@s.test' },
          status: 201,
          shape: added,
          holds: { reason: 'manual' },
          keep: { one: 'id' },
        },
        {
          says: 'with a reason',
          body: { email: 'two@s.test', reason: 'unsubscribe' },
          status: 201,
          shape: added,
          holds: { reason: 'unsubscribe' },
        },
        { says: 'a third', body: { email: 'three@s.test', reason: 'spam_complaint' }, status: 201, shape: added },
        {
          says: 'one that is there keeps its reason',
          body: { email: 'one@s.test', reason: 'unsubscribe' },
          status: 200,
          shape: added,
          holds: { id: '{one}', reason: 'manual' },
        },
        {
          says: 'without an address',
          body: { reason: 'manual' },
          refused: { code: 'missing_required_field', fields: ['email'] },
        },
        {
          says: 'what is no address',
          body: { email: 'bob' },
          refused: { code: 'invalid_email_address', fields: ['email'] },
        },
        {
          says: 'a reason that there is not',
          body: { email: 'x@s.test', reason: 'spite' },
          refused: { code: 'validation_error', fields: ['reason'] },
        },
      ],
    },
    {
      row: 'GET /v1/suppressions',
      who: reads,
      cases: [
        { says: 'newest first, 50 at most', shape: cursorPage(whole), holds: { 'data.0.email': 'three@s.test' } },
        {
          says: 'a page',
          query: { limit: '2' },
          shape: pageOf(2),
          holds: { has_more: true },
          keep: { place: 'next_cursor' },
        },
        {
          says: 'the next',
          query: { limit: '1', cursor: '{place}' },
          shape: pageOf(1),
          holds: { 'data.0.email': 'one@s.test' },
        },
        {
          says: 'by reason',
          query: { reason: 'spam_complaint' },
          shape: pageOf(1),
          holds: { has_more: false, next_cursor: null },
        },
        {
          says: 'an unknown cursor',
          query: { cursor: 'nowhere' },
          refused: { code: 'validation_error', fields: ['cursor'] },
        },
        { says: 'limit 0', query: { limit: '0' }, refused: { code: 'validation_error', fields: ['limit'] } },
        { says: 'limit 101', query: { limit: '101' }, refused: { code: 'validation_error', fields: ['limit'] } },
        {
          says: 'a reason that there is not',
          query: { reason: 'spite' },
          refused: { code: 'validation_error', fields: ['reason'] },
        },
        { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
      ],
    },
    {
      row: 'GET /v1/suppressions/:id',
      who: reads,
      cases: [
        {
          says: 'the record',
          id: '{one}',
          shape: whole,
          holds: { email: 'one@s.test', metadata: {}, source_email_id: null },
        },
        {
          says: 'a permanent refusal puts an address on the list',
          request: 'POST /v1/emails',
          body: { from: 'app@a.test', to: 'nobody@gone.test', subject: 's', text: 't' },
          status: 201,
          keep: { bounced: 'id' },
        },
        {
          says: 'with its email and why',
          request: 'GET /v1/suppressions',
          query: { reason: 'hard_bounce' },
          shape: cursorPage(whole),
          holds: {
            'data.0.email': 'nobody@gone.test',
            'data.0.source_email_id': '{bounced}',
            'data.0.metadata.bounce_type': /./,
            'data.0.metadata.bounce_subtype': /./,
          },
          until: true,
        },
        { says: "another workspace's", id: '{one}', as: 'foreign', refused: { code: 'not_found', id: '{one}' } },
        { says: 'no id at all', id: 'x', refused: { code: 'not_found', id: 'x' } },
      ],
    },
    {
      row: 'DELETE /v1/suppressions/:id',
      who: writes,
      cases: [
        { says: "another workspace's", id: '{one}', as: 'foreign', refused: { code: 'not_found', id: '{one}' } },
        { says: 'it is off the list, without a word', id: '{one}', status: 204 },
        { says: 'again', id: '{one}', refused: { code: 'not_found', id: '{one}' } },
      ],
    },
    {
      row: 'DELETE /v1/suppressions',
      who: writes,
      probe: { query: { email: 'nobody@s.test' } },
      cases: [
        { says: 'by its address', query: { email: 'two@s.test' }, status: 204 },
        {
          says: 'and it may be sent to again',
          request: 'GET /v1/suppressions',
          query: { reason: 'unsubscribe' },
          holds: { data: [] },
        },
        { says: 'without an address', refused: { code: 'missing_required_field', fields: ['email'] } },
        {
          says: 'what is no address',
          query: { email: 'bob' },
          refused: { code: 'invalid_email_address', fields: ['email'] },
        },
        { says: 'that is not on the list', query: { email: 'two@s.test' }, refused: { code: 'not_found' } },
      ],
    },
  ],
}
