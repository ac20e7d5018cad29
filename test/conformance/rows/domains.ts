/** Rows of the section "Domains". `{verified}` is a verified domain; for the others see the test file. */
import { administrates, type Resource, readsSettings } from '../support/row.js'
import {
  anything,
  boolean,
  data,
  equals,
  filledText,
  hasFields,
  inOrder,
  list,
  matches,
  nullable,
  record,
  type Shape,
  timestamp,
  uuid,
} from '../support/shapes.js'

const recordStatus = equals('pending', 'verified', 'failed')
const cname = (purpose: string): Shape =>
  record({
    type: equals('CNAME'),
    name: matches(/\./),
    relative_name: filledText,
    value: matches(/\./),
    status: recordStatus,
    purpose: equals(purpose),
  })
const fields = {
  id: uuid,
  domain: matches(/\./),
  status: equals('pending', 'verified', 'failed'),
  dns_records: inOrder(cname('mail_cname'), cname('dkim1'), cname('dkim2')),
  created_at: timestamp,
}
const listed = record({ ...fields, verified_at: nullable(timestamp) }, { inbound: boolean, forced: boolean })
const single = hasFields({
  ...fields,
  verified_at: nullable(timestamp),
  inbound: boolean,
  mx_record: record({
    type: equals('MX'),
    name: matches(/\./),
    relative_name: filledText,
    value: matches(/\./),
    priority: equals(10),
    status: recordStatus,
  }),
})
const unproved = hasFields({
  records: list(
    record({ type: filledText, name: matches(/\./), expected: filledText, found: anything, status: recordStatus }),
    { atLeast: 3 },
  ),
})

export const domains: Resource = {
  name: 'Domains',
  rows: [
    {
      row: 'POST /v1/domains',
      who: administrates,
      cases: [
        {
          says: 'three CNAMEs to publish',
          body: { domain: 'New.test' },
          status: 201,
          shape: single,
          holds: { domain: 'new.test', status: 'pending', inbound: false, 'dns_records.0.status': 'pending' },
          keep: { domain: 'id' },
        },
        {
          says: 'an international name',
          body: { domain: 'grüße.test' },
          status: 201,
          shape: single,
          holds: { domain: 'xn--gre-6ka8l.test' },
        },
        {
          says: 'one that another workspace has claimed, not verified',
          body: { domain: 'new.test' },
          as: 'foreign',
          status: 201,
          shape: single,
        },
        {
          says: 'one that another workspace has verified',
          body: { domain: 'a.test' },
          as: 'foreign',
          refused: { code: 'domain_already_exists' },
        },
        { says: 'again in the same workspace', body: { domain: 'new.test' }, refused: { code: 'conflict' } },
        { says: 'without a name', body: {}, refused: { code: 'missing_required_field', fields: ['domain'] } },
        {
          says: 'what is no domain name',
          body: { domain: 'not a domain' },
          refused: { code: 'validation_error', fields: ['domain'] },
        },
        {
          says: 'a public suffix',
          body: { domain: 'co.uk' },
          refused: { code: 'validation_error', fields: ['domain'] },
        },
      ],
    },
    {
      row: 'GET /v1/domains',
      who: readsSettings,
      cases: [
        { says: 'those of the workspace', shape: data(list(listed, { atLeast: 3 })) },
        {
          says: 'at most as many as asked for',
          query: { limit: '1', offset: '1' },
          shape: data(list(listed, { exactly: 1 })),
        },
        { says: 'limit 101', query: { limit: '101' }, refused: { code: 'validation_error', fields: ['limit'] } },
      ],
    },
    {
      row: 'GET /v1/domains/:id',
      who: readsSettings,
      cases: [
        { says: 'with its MX record', id: '{domain}', shape: single, holds: { id: '{domain}' } },
        {
          says: "another workspace's",
          id: '{domain}',
          as: 'foreign',
          refused: { code: 'domain_not_found', id: '{domain}' },
        },
        { says: 'no id at all', id: 'x', refused: { code: 'domain_not_found', id: 'x' } },
      ],
    },
    {
      row: 'PATCH /v1/domains/:id',
      who: administrates,
      cases: [
        {
          says: 'a verified domain receives mail',
          id: '{verified}',
          body: { inbound: true },
          shape: single,
          holds: { inbound: true },
        },
        {
          says: 'one that is not verified cannot',
          id: '{domain}',
          body: { inbound: true },
          refused: { code: 'domain_not_verified' },
        },
        {
          says: 'a value that is none',
          id: '{domain}',
          body: { inbound: 'yes' },
          refused: { code: 'validation_error', fields: ['inbound'] },
        },
      ],
    },
    {
      row: 'POST /v1/domains/:id/verify',
      who: administrates,
      cases: [
        {
          says: 'nothing is published',
          id: '{domain}',
          refused: { code: 'domain_verification_failed', details: unproved },
        },
        {
          says: 'it has failed, and may be asked for again',
          request: 'GET /v1/domains/:id',
          id: '{domain}',
          holds: { status: 'failed' },
        },
        {
          says: 'all three are published',
          id: '{proved}',
          shape: single,
          holds: { status: 'verified', 'dns_records.0.status': 'verified', verified_at: /^\d{4}-/ },
        },
        {
          says: 'only the mail host is',
          id: '{keyless}',
          refused: { code: 'dkim_verification_failed', details: unproved },
        },
        {
          says: 'only the keys are',
          id: '{hostless}',
          refused: { code: 'spf_verification_failed', details: unproved },
        },
        { says: 'DNS does not answer', id: '{silent}', refused: { code: 'gateway_timeout' } },
        {
          says: 'and nothing has changed',
          request: 'GET /v1/domains/:id',
          id: '{silent}',
          holds: { status: 'pending' },
        },
        { says: 'an unknown id', id: '{unknown}', refused: { code: 'domain_not_found', id: '{unknown}' } },
      ],
    },
    {
      row: 'DELETE /v1/domains/:id',
      who: administrates,
      cases: [
        {
          says: "another workspace's",
          id: '{domain}',
          as: 'foreign',
          refused: { code: 'domain_not_found', id: '{domain}' },
        },
        {
          says: 'it is gone',
          id: '{domain}',
          shape: record({ deleted: equals(true), id: uuid }),
          holds: { id: '{domain}' },
        },
        { says: 'again', id: '{domain}', refused: { code: 'domain_not_found', id: '{domain}' } },
      ],
    },
  ],
}
