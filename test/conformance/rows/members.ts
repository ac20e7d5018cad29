/** Rows of the section "Members and invitations", authorised in the workspace that the request names. */
import type { Case, Resource, Row } from '../support/row.js'
import { data, equals, list, matches, nullable, record, text, timestamp, uuid } from '../support/shapes.js'

import { forbidden, role } from './workspaces.js'

const member = record({
  id: uuid,
  role,
  joined_at: timestamp,
  user: record({ id: uuid, email: matches(/@/), full_name: text, avatar_url: nullable(text) }),
})
const invited = record({
  id: uuid,
  email: matches(/@/),
  role: equals('admin', 'member'),
  expires_at: timestamp,
  created_at: timestamp,
})
const pending = record({
  id: uuid,
  email: matches(/@/),
  role: equals('admin', 'member'),
  created_at: timestamp,
  expires_at: timestamp,
  invited_by: record({ full_name: text, email: matches(/@/) }),
})
const here = { workspaceId: '{workspace}' }
const there = { workspaceId: '{other_workspace}' }
const newcomer = { ...here, email: 'new@b.test', role: 'member' }
const withoutWorkspace: Case = {
  says: 'without a workspace',
  refused: { code: 'missing_required_field', fields: ['workspaceId'] },
}

const memberRows: readonly Row[] = [
  {
    row: 'GET /v1/members',
    who: null,
    cases: [
      { says: 'all of the workspace', query: here, shape: data(list(member, { exactly: 3 })) },
      { says: 'for a member too', query: here, as: 'member', shape: data(list(member, { exactly: 3 })) },
      { says: "of another's workspace", query: there, refused: { code: 'not_found', id: '{other_workspace}' } },
      withoutWorkspace,
    ],
  },
  {
    row: 'POST /v1/members',
    who: null,
    cases: [
      {
        says: 'an invitation',
        body: newcomer,
        status: 201,
        shape: data(invited),
        holds: { 'data.email': 'new@b.test' },
        keep: { invitation: 'data.id' },
      },
      {
        says: 'by an admin',
        as: 'admin',
        body: { ...newcomer, email: 'second@b.test' },
        status: 201,
        shape: data(invited),
        keep: { second_invitation: 'data.id' },
      },
      forbidden('member', { body: newcomer }),
      forbidden('send', { body: newcomer }),
      forbidden('read', { body: newcomer }),
      {
        says: 'as an owner',
        body: { ...newcomer, role: 'owner' },
        refused: { code: 'validation_error', fields: ['role'] },
      },
      {
        says: 'what is no address',
        body: { ...newcomer, email: 'new' },
        refused: { code: 'invalid_email_address', fields: ['email'] },
      },
      { says: 'who is a member', body: { ...newcomer, email: 'member@a.test' }, refused: { code: 'conflict' } },
      {
        says: "into another's workspace",
        body: { ...newcomer, ...there },
        refused: { code: 'not_found', id: '{other_workspace}' },
      },
      {
        says: 'without anything',
        body: {},
        refused: { code: 'missing_required_field', fields: ['workspaceId', 'email', 'role'] },
      },
    ],
  },
  {
    row: 'PATCH /v1/members/:id',
    who: null,
    cases: [
      {
        says: 'another role',
        id: '{member_member}',
        body: { ...here, role: 'admin' },
        shape: data(record({ id: uuid, role: equals('admin'), updated_at: timestamp })),
      },
      {
        says: 'and back',
        id: '{member_member}',
        as: 'admin',
        body: { ...here, role: 'member' },
        holds: { 'data.role': 'member' },
      },
      forbidden('member', { id: '{member_member}', body: { ...here, role: 'admin' } }),
      {
        says: 'the owner stays the owner',
        id: '{owner_member}',
        body: { ...here, role: 'member' },
        refused: { code: 'conflict' },
      },
      {
        says: 'a role change makes no owner',
        id: '{member_member}',
        body: { ...here, role: 'owner' },
        refused: { code: 'validation_error', fields: ['role'] },
      },
      {
        says: 'an unknown member',
        id: '{unknown}',
        body: { ...here, role: 'admin' },
        refused: { code: 'not_found', id: '{unknown}' },
      },
      {
        says: "of another's workspace",
        id: '{member_member}',
        body: { ...there, role: 'admin' },
        refused: { code: 'not_found', id: '{other_workspace}' },
      },
    ],
  },
  {
    row: 'GET /v1/invitations',
    who: null,
    cases: [
      { says: 'those that are pending', query: here, shape: data(list(pending, { exactly: 2 })) },
      { says: "of another's workspace", query: there, refused: { code: 'not_found', id: '{other_workspace}' } },
      withoutWorkspace,
    ],
  },
  {
    row: 'DELETE /v1/invitations/:id',
    who: null,
    cases: [
      forbidden('member', { id: '{invitation}', query: here }),
      {
        says: 'by its path',
        id: '{invitation}',
        query: here,
        shape: data(record({ cancelled: equals(true), id: uuid })),
        holds: { 'data.id': '{invitation}' },
      },
      { says: 'one that is over', id: '{invitation}', query: here, refused: { code: 'conflict' } },
    ],
  },
  {
    row: 'DELETE /v1/invitations',
    who: null,
    cases: [
      {
        says: 'by the query',
        query: { ...here, invitationId: '{second_invitation}' },
        shape: data(record({ cancelled: equals(true), id: uuid })),
        holds: { 'data.id': '{second_invitation}' },
      },
      { says: 'none is pending', request: 'GET /v1/invitations', query: here, holds: { data: [] } },
    ],
  },
  {
    row: 'DELETE /v1/members/:id',
    who: null,
    cases: [
      forbidden('member', { id: '{admin_member}', query: here }),
      { says: 'the owner stays', id: '{owner_member}', query: here, refused: { code: 'conflict' } },
      {
        says: 'removed, and the keys of the member end',
        id: '{member_member}',
        query: here,
        shape: data(record({ removed: equals(true), id: uuid })),
        holds: { 'data.id': '{member_member}' },
      },
      { says: 'at once', request: 'GET /v1/usage', as: 'member', refused: { code: 'invalid_api_key' } },
      { says: 'again', id: '{member_member}', query: here, refused: { code: 'not_found', id: '{member_member}' } },
    ],
  },
]

export const members: Resource = { name: 'Members and invitations', rows: memberRows }
