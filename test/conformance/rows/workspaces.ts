/**
 * Rows of the section "Workspaces". The role of the key's user in the named workspace decides, so most rows name the
 * allowed roles in their own cases.
 */
import type { Asker, Case, Resource, Row } from '../support/row.js'
import {
  anything,
  data,
  equals,
  filledText,
  integer,
  list,
  matches,
  nullable,
  record,
  text,
  timestamp,
  uuid,
  workspaceId,
} from '../support/shapes.js'

export const role = equals('owner', 'admin', 'member')
const fields = {
  id: workspaceId,
  name: filledText,
  slug: matches(/^[a-z0-9-]+$/),
  icon_url: nullable(text),
  owner_id: uuid,
  role,
  created_at: timestamp,
}
const more = { language: text, postal_address: nullable(text) }
const workspace = record(fields, more)
const single = record({ ...fields, member_count: integer }, more)

export const forbidden = (as: Asker, more: Omit<Case, 'says'>): Case => ({
  ...more,
  says: `not for ${as}`,
  as,
  refused: { code: 'insufficient_permissions', details: anything },
})

const workspaceRows: readonly Row[] = [
  {
    row: 'POST /v1/workspaces',
    who: null,
    cases: [
      {
        says: 'a name is enough, and who asks is its owner',
        body: { name: 'Second One' },
        status: 201,
        shape: data(workspace),
        holds: { 'data.role': 'owner', 'data.slug': 'second-one', 'data.icon_url': null },
        keep: { second: 'data.id' },
      },
      {
        says: 'the same name again has another slug',
        body: { name: 'Second One', icon_url: 'https://a.test/i.png' },
        status: 201,
        shape: data(workspace),
        holds: { 'data.slug': 'second-one-2', 'data.icon_url': 'https://a.test/i.png' },
      },
      { says: '100 characters', body: { name: 'n'.repeat(100) }, status: 201, shape: data(workspace) },
      {
        says: '101 characters',
        body: { name: 'n'.repeat(101) },
        refused: { code: 'validation_error', fields: ['name'] },
      },
      { says: 'without a name', body: {}, refused: { code: 'missing_required_field', fields: ['name'] } },
      forbidden('send', { body: { name: 'x' } }),
      forbidden('read', { body: { name: 'x' } }),
    ],
  },
  {
    row: 'GET /v1/workspaces',
    who: null,
    cases: [
      { says: 'every one that the caller belongs to', shape: data(list(workspace, { atLeast: 3 })) },
      {
        says: 'with the role of the caller',
        as: 'member',
        shape: data(list(workspace, { exactly: 1 })),
        holds: { 'data.0.role': 'member' },
      },
      {
        says: 'and no other',
        as: 'foreign',
        shape: data(list(workspace, { exactly: 1 })),
        holds: { 'data.0.id': '{other_workspace}' },
      },
    ],
  },
  {
    row: 'GET /v1/workspaces/:id',
    who: null,
    cases: [
      {
        says: 'with the count of its members',
        id: '{workspace}',
        shape: data(single),
        holds: { 'data.member_count': 3, 'data.role': 'owner' },
      },
      {
        says: 'for a member too',
        id: '{workspace}',
        as: 'member',
        shape: data(single),
        holds: { 'data.role': 'member' },
      },
      { says: "another's", id: '{other_workspace}', refused: { code: 'not_found', id: '{other_workspace}' } },
      { says: 'no id at all', id: 'x', refused: { code: 'not_found', id: 'x' } },
    ],
  },
  {
    row: 'PATCH /v1/workspaces/:id',
    who: null,
    cases: [
      {
        says: 'another name',
        id: '{workspace}',
        body: { name: 'Renamed' },
        shape: data(workspace),
        holds: { 'data.name': 'Renamed' },
      },
      { says: 'by an admin', id: '{workspace}', as: 'admin', body: { name: 'Again' }, holds: { 'data.name': 'Again' } },
      forbidden('member', { id: '{workspace}', body: { name: 'x' } }),
      forbidden('send', { id: '{workspace}', body: { name: 'x' } }),
      forbidden('read', { id: '{workspace}', body: { name: 'x' } }),
      {
        says: "another's",
        id: '{other_workspace}',
        body: { name: 'x' },
        refused: { code: 'not_found', id: '{other_workspace}' },
      },
      {
        says: 'a name that is too long',
        id: '{workspace}',
        body: { name: 'n'.repeat(101) },
        refused: { code: 'validation_error', fields: ['name'] },
      },
    ],
  },
  {
    row: 'DELETE /v1/workspaces/:id',
    who: null,
    cases: [
      forbidden('admin', { id: '{workspace}' }),
      forbidden('member', { id: '{workspace}' }),
      forbidden('send', { id: '{workspace}' }),
      { says: "another's", id: '{other_workspace}', refused: { code: 'not_found', id: '{other_workspace}' } },
      {
        says: 'by its owner',
        id: '{second}',
        shape: data(record({ deleted: equals(true), id: workspaceId })),
        holds: { 'data.id': '{second}' },
      },
      {
        says: 'it is gone',
        request: 'GET /v1/workspaces/:id',
        id: '{second}',
        refused: { code: 'not_found', id: '{second}' },
      },
    ],
  },
]

export const workspaces: Resource = { name: 'Workspaces', rows: workspaceRows }
