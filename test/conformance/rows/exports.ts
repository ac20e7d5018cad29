/** Rows of the section "Exports". */
import { type Resource, reads, writes } from '../support/row.js'
import {
  data,
  equals,
  filledText,
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

const type = equals('email_logs', 'bounces', 'suppressions', 'opens')
const from_date = '2026-11-01'
const to_date = '2030-11-30'

const item = record(
  {
    export_id: uuid,
    type,
    status: equals('processing', 'completed', 'failed'),
    created_at: timestamp,
    download_url: nullable(matches(/^https:\/\/mail\.service\.test\/v1\/exports\/[0-9a-f-]{36}\/download\?/)),
    expires_at: nullable(timestamp),
  },
  { rows: integer, progress: number, error: nullable(text) },
)

const wrongBodies = [
  ['another type', { type: 'clicks', from_date, to_date }, ['type']],
  ['a date that is none', { type: 'opens', from_date: '2026-02-30', to_date }, ['from_date']],
  ['a time without an offset', { type: 'opens', from_date, to_date: '2026-11-30T00:00:00' }, ['to_date']],
  ['an end before the start', { type: 'opens', from_date, to_date: '2026-10-31' }, ['to_date']],
  ['no domain name', { type: 'opens', from_date, to_date, domain: 'a b' }, ['domain']],
  ['a field that there is not', { type: 'opens', from_date, to_date, format: 'csv' }, ['format']],
] as const

const made = ['email_logs', 'bounces', 'suppressions', 'opens'].map((type) => ({
  says: type,
  body: { type, from_date, to_date },
  status: 202,
  shape: record({
    message: filledText,
    data: record({ export_id: uuid, type: equals(type), status: equals('processing'), created_at: timestamp }),
  }),
  keep: { [type]: 'data.export_id' },
}))

/** Before the next one is asked for, so that each is the newest. */
const isFinished = {
  says: 'it is finished',
  request: 'GET /v1/exports',
  until: true as const,
  holds: {
    'data.0.status': 'completed',
    'data.0.progress': 1,
    'data.0.error': null,
    'data.0.download_url': /signature=/,
  },
}

export const exports: Resource = {
  name: 'Exports',
  rows: [
    {
      row: 'POST /v1/exports',
      who: writes,
      cases: [
        ...made.flatMap((one) => [one, isFinished]),
        {
          says: 'of a domain, between moments',
          body: {
            type: 'opens',
            from_date: '2026-11-01T00:00:00+02:00',
            to_date: '2026-11-01T00:00:00Z',
            domain: 'A.test',
          },
          status: 202,
          keep: { last: 'data.export_id' },
        },
        isFinished,
        {
          says: 'without what is required',
          body: {},
          refused: { code: 'missing_required_field', fields: ['type', 'from_date', 'to_date'] },
        },
        ...wrongBodies.map(([says, body, fields]) => ({ says, body, refused: { code: 'validation_error', fields } })),
      ],
    },
    {
      row: 'GET /v1/exports',
      who: reads,
      cases: [
        { says: 'newest first', shape: data(list(item, { exactly: 5 })), holds: { 'data.0.export_id': '{last}' } },
        { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
      ],
    },
    {
      row: 'GET /v1/exports/:id/download',
      who: reads,
      cases: [
        {
          says: 'the file, with a row for each suppressed address',
          id: '{suppressions}',
          shape: matches(/^email,reason,source_email_id,created_at\r\n/),
          responseHeaders: {
            'content-type': /^text\/csv; charset=utf-8$/,
            'content-disposition': /^attachment; filename="suppressions-\d{4}-\d\d-\d\d\.csv"$/,
            'accept-ranges': /^bytes$/,
          },
        },
        {
          says: 'a part of it',
          id: '{suppressions}',
          headers: { range: 'bytes=0-4' },
          status: 206,
          shape: equals('email'),
          responseHeaders: { 'content-range': /^bytes 0-4\/\d+$/ },
        },
        { says: 'an unknown id', id: '{unknown}', refused: { code: 'not_found', id: '{unknown}' } },
        { says: "another workspace's", id: '{opens}', as: 'foreign', refused: { code: 'not_found', id: '{opens}' } },
        { says: 'no id at all', id: 'x', refused: { code: 'not_found', id: 'x' } },
      ],
    },
    {
      row: 'DELETE /v1/exports',
      who: writes,
      probe: { query: { export_ids: '{unknown}' } },
      cases: [
        {
          says: 'finished ones, without those of others and unknown ones',
          query: { export_ids: '{opens},{unknown},{bounces}' },
          holds: { deleted: ['{opens}', '{bounces}'] },
          shape: record({ message: filledText, deleted: list(uuid) }),
        },
        { says: 'those are gone', request: 'GET /v1/exports', shape: data(list(item, { exactly: 3 })) },
        {
          says: 'with their files',
          request: 'GET /v1/exports/:id/download',
          id: '{opens}',
          refused: { code: 'not_found', id: '{opens}' },
        },
        { says: "another workspace's", as: 'foreign', query: { export_ids: '{last}' }, holds: { deleted: [] } },
        { says: 'no list', refused: { code: 'missing_required_field', fields: ['export_ids'] } },
        {
          says: 'a list with something else in it',
          query: { export_ids: '{last},x' },
          refused: { code: 'validation_error', fields: ['export_ids'] },
        },
      ],
    },
  ],
}
