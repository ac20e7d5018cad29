/** Rows of the section "API keys". */
import { administrates, type Resource, readsSettings } from '../support/row.js'
import { data, equals, filledText, list, matches, nullable, record, text, timestamp, uuid } from '../support/shapes.js'

/** The limits of a key, beside what the document shows of it. */
const limits = {
  scopes: list(equals('full', 'send', 'read'), { atLeast: 1 }),
  expires_at: nullable(timestamp),
  allowed_networks: list(text),
  allowed_domains: list(text),
  sender: nullable(text),
}
const fields = { id: uuid, name: filledText, key_prefix: matches(/^ph_/), created_at: timestamp }
const created = record({ ...fields, key: matches(/^ph_[\w-]{40,}$/) }, limits)
const listed = record({ ...fields, last_used_at: nullable(timestamp), revoked_at: nullable(timestamp) }, limits)

export const apiKeys: Resource = {
  name: 'API keys',
  rows: [
    {
      row: 'POST /v1/api-keys',
      who: administrates,
      cases: [
        { says: 'a name is enough', body: { name: 'ci' }, status: 201, shape: created, keep: { key: 'id' } },
        {
          says: 'scopes, an end, networks and domains narrow it',
          body: {
            name: 'narrow',
            workspace_id: '{workspace}',
            scopes: ['send'],
            expires_at: '{soon}',
            allowed_networks: ['192.0.2.0/24'],
            allowed_domains: ['a.test'],
          },
          status: 201,
          shape: created,
          holds: { scopes: ['send'], expires_at: '{soon}', allowed_domains: ['a.test'] },
        },
        { says: 'without a name', body: {}, refused: { code: 'missing_required_field', fields: ['name'] } },
        { says: 'a name that is no text', body: { name: 7 }, refused: { code: 'validation_error', fields: ['name'] } },
        {
          says: 'an unknown field',
          body: { name: 'k', colour: 'red' },
          refused: { code: 'validation_error', fields: ['colour'] },
        },
        {
          says: 'several faults at once',
          body: { name: '', scopes: ['all'], expires_at: 'tomorrow' },
          refused: { code: 'validation_error', fields: ['name', 'scopes[0]', 'expires_at'] },
        },
        { says: 'a body that is no JSON', body: Buffer.from('{"name":'), refused: { code: 'invalid_json' } },
        {
          says: 'a body of another type',
          body: Buffer.from('name=ci'),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          refused: { code: 'unsupported_media_type' },
        },
        {
          says: 'a workspace that the user of the key does not belong to',
          body: { name: 'k', workspace_id: '{other_workspace}' },
          refused: { code: 'not_found', id: '{other_workspace}' },
        },
      ],
    },
    {
      row: 'GET /v1/api-keys',
      who: readsSettings,
      cases: [
        { says: 'the prefix, never the key', shape: data(list(listed, { atLeast: 2 })) },
        { says: 'at most as many as asked for', query: { limit: '1' }, shape: data(list(listed, { exactly: 1 })) },
        { says: 'far down the list', query: { limit: '100', offset: '1000' }, holds: { data: [] } },
        { says: 'limit 0', query: { limit: '0' }, refused: { code: 'validation_error', fields: ['limit'] } },
        { says: 'limit 101', query: { limit: '101' }, refused: { code: 'validation_error', fields: ['limit'] } },
      ],
    },
    {
      row: 'DELETE /v1/api-keys/:id',
      who: administrates,
      cases: [
        {
          says: 'it is revoked',
          id: '{key}',
          shape: record({ id: uuid, revoked_at: timestamp }),
          holds: { id: '{key}' },
        },
        { says: 'again: still revoked', id: '{key}', shape: record({ id: uuid, revoked_at: timestamp }) },
        {
          says: 'it stays in the list with its moment',
          request: 'GET /v1/api-keys',
          query: { limit: '100' },
          shape: data(list(listed)),
        },
        { says: "another workspace's", id: '{key}', as: 'foreign', refused: { code: 'not_found', id: '{key}' } },
        { says: 'no id at all', id: 'x', refused: { code: 'not_found', id: 'x' } },
      ],
    },
  ],
}
