/** Rows of the section "Audiences". */
import { type Resource, type Row, readsSettings, writes } from '../support/row.js'
import { data, filledText, integer, list, nullable, record, text, timestamp, uuid } from '../support/shapes.js'

const audienceFields = { id: uuid, name: filledText, description: nullable(text), created_at: timestamp }
const createdAudience = record(audienceFields)
const audience = record({ ...audienceFields, contacts_count: integer, updated_at: timestamp })

const audienceRows: readonly Row[] = [
  {
    row: 'POST /v1/audiences',
    who: writes,
    cases: [
      {
        says: 'a name is enough',
        body: { name: 'News' },
        status: 201,
        shape: createdAudience,
        holds: { description: null },
        keep: { audience: 'id' },
      },
      {
        says: 'with a description',
        body: { name: 'Offers', description: 'Monthly' },
        status: 201,
        shape: createdAudience,
        holds: { description: 'Monthly' },
        keep: { offers: 'id' },
      },
      { says: 'without a name', body: {}, refused: { code: 'missing_required_field', fields: ['name'] } },
      { says: 'a name that is no text', body: { name: 7 }, refused: { code: 'validation_error', fields: ['name'] } },
    ],
  },
  {
    row: 'GET /v1/audiences',
    who: readsSettings,
    cases: [
      { says: 'with their counts', shape: data(list(audience, { exactly: 2 })) },
      {
        says: 'at most as many as asked for',
        query: { limit: '1', offset: '1' },
        shape: data(list(audience, { exactly: 1 })),
      },
      { says: 'limit 101', query: { limit: '101' }, refused: { code: 'validation_error', fields: ['limit'] } },
      { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
    ],
  },
  {
    row: 'GET /v1/audiences/:id',
    who: readsSettings,
    cases: [
      {
        says: 'the record with its count',
        id: '{audience}',
        shape: audience,
        holds: { id: '{audience}', contacts_count: 0 },
      },
      {
        says: "another workspace's",
        id: '{audience}',
        as: 'foreign',
        refused: { code: 'audience_not_found', id: '{audience}' },
      },
      { says: 'no id at all', id: 'x', refused: { code: 'audience_not_found', id: 'x' } },
    ],
  },
  {
    row: 'PATCH /v1/audiences/:id',
    who: writes,
    cases: [
      {
        says: 'only what is named changes',
        id: '{offers}',
        body: { name: 'Sales' },
        shape: audience,
        holds: { name: 'Sales', description: 'Monthly' },
      },
      {
        says: 'an unknown id',
        id: '{unknown}',
        body: { name: 'x' },
        refused: { code: 'audience_not_found', id: '{unknown}' },
      },
    ],
  },
]

export const audiences: Resource = { name: 'Audiences', rows: audienceRows }
