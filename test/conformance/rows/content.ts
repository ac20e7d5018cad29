/** Rows of the sections "Templates" and "Files", and how sends use both. */
import { emptyForm, multipart, multipartType } from '../../helpers/http/multipart.js'
import { type Resource, type Row, readsSettings, sends, writes } from '../support/row.js'
import {
  data,
  equals,
  filledText,
  freeObject,
  integer,
  list,
  nullable,
  record,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

const body = { name: 'Welcome', subject: 'Hello {{first_name}}', html: '<p>{{first_name}}</p>', text: '{{first_name}}' }
const fields = {
  id: uuid,
  name: filledText,
  subject: filledText,
  html: nullable(text),
  text: nullable(text),
  alias: nullable(filledText),
  variables: list(filledText),
  created_at: timestamp,
}
/** The document of a mail in blocks. */
const beyond = { blocks: nullable(freeObject) }
const created = record(fields, beyond)
const listed = record({ ...fields, updated_at: timestamp }, beyond)
const single = listed

const templateRows: readonly Row[] = [
  {
    row: 'POST /v1/templates',
    who: writes,
    cases: [
      {
        says: 'variables are found in the texts',
        body,
        status: 201,
        shape: created,
        holds: { name: 'Welcome', variables: ['first_name'] },
        keep: { template: 'id' },
      },
      {
        says: 'variables as listed, without a text',
        body: { name: 'Bare', subject: 'Hello', html: '<p>{{a}}</p>', variables: ['a', 'b'] },
        status: 201,
        shape: created,
        holds: { text: null, variables: ['a', 'b'] },
        keep: { bare: 'id' },
      },
      {
        says: 'without a name',
        body: { subject: 's', text: 't' },
        refused: { code: 'missing_required_field', fields: ['name'] },
      },
      {
        says: 'without a subject',
        body: { name: 'n', text: 't' },
        refused: { code: 'missing_required_field', fields: ['subject'] },
      },
      {
        says: 'a subject that is no text',
        body: { name: 'n', subject: 7 },
        refused: { code: 'validation_error', fields: ['subject'] },
      },
      {
        says: 'an unknown field',
        body: { ...body, colour: 'red' },
        refused: { code: 'validation_error', fields: ['colour'] },
      },
    ],
  },
  {
    row: 'GET /v1/templates',
    who: readsSettings,
    cases: [
      { says: 'those of the workspace', shape: data(list(listed, { exactly: 2 })) },
      {
        says: 'at most as many as asked for',
        query: { limit: '1', offset: '1' },
        shape: data(list(listed, { exactly: 1 })),
      },
      { says: 'limit 101', query: { limit: '101' }, refused: { code: 'validation_error', fields: ['limit'] } },
      { says: 'nothing of it for others', as: 'foreign', holds: { data: [] } },
    ],
  },
  {
    row: 'GET /v1/templates/:id',
    who: readsSettings,
    cases: [
      {
        says: 'the record',
        id: '{template}',
        shape: single,
        holds: { id: '{template}', subject: 'Hello {{first_name}}' },
      },
      {
        says: "another workspace's",
        id: '{template}',
        as: 'foreign',
        refused: { code: 'template_not_found', id: '{template}' },
      },
      { says: 'no id at all', id: 'x', refused: { code: 'template_not_found', id: 'x' } },
    ],
  },
  {
    row: 'PATCH /v1/templates/:id',
    who: writes,
    cases: [
      {
        says: 'only what is named changes',
        id: '{template}',
        body: { name: 'Hello' },
        shape: single,
        holds: { name: 'Hello', subject: 'Hello {{first_name}}' },
      },
      {
        says: 'a name that is none',
        id: '{template}',
        body: { name: '' },
        refused: { code: 'validation_error', fields: ['name'] },
      },
      {
        says: 'an unknown id',
        id: '{unknown}',
        body: { name: 'x' },
        refused: { code: 'template_not_found', id: '{unknown}' },
      },
    ],
  },
  {
    row: 'POST /v1/emails (with template_id)',
    who: sends,
    cases: [
      {
        says: 'subject and bodies come from the template, its values escaped in HTML',
        body: {
          from: 'app@a.test',
          to: 'bob@b.test',
          template_id: '{template}',
          template_data: { first_name: 'Ann & Bob' },
        },
        status: 201,
        keep: { rendered: 'id' },
      },
      {
        says: 'as the record shows',
        request: 'GET /v1/emails/:id',
        id: '{rendered}',
        holds: { subject: 'Hello Ann & Bob', html: /Ann &amp; Bob/, text: /Ann & Bob/, template_id: '{template}' },
      },
      {
        says: 'a variable without a value',
        body: { from: 'app@a.test', to: 'bob@b.test', template_id: '{template}' },
        refused: { code: 'invalid_template_variables' },
      },
      {
        says: "another workspace's template",
        as: 'foreign',
        body: {
          from: 'app@other.test',
          to: 'bob@b.test',
          template_id: '{template}',
          template_data: { first_name: 'x' },
        },
        refused: { code: 'template_not_found', id: '{template}' },
      },
    ],
  },
  {
    row: 'DELETE /v1/templates/:id',
    who: writes,
    cases: [
      {
        says: "another workspace's",
        id: '{bare}',
        as: 'foreign',
        refused: { code: 'template_not_found', id: '{bare}' },
      },
      { says: 'it is gone', id: '{bare}', shape: record({ deleted: equals(true), id: uuid }), holds: { id: '{bare}' } },
      { says: 'again', id: '{bare}', refused: { code: 'template_not_found', id: '{bare}' } },
    ],
  },
]

const file = record({
  message: filledText,
  data: record({
    file_cache_key: filledText,
    name: filledText,
    size: integer,
    content_type: text,
    created_at: timestamp,
  }),
})

const fileRows: readonly Row[] = [
  {
    row: 'POST /v1/files',
    who: sends,
    probe: { headers: multipartType, body: multipart('') },
    cases: [
      {
        says: 'a form with the file in it',
        query: { name: 'note.txt' },
        headers: multipartType,
        body: multipart('hello'),
        shape: file,
        holds: { 'data.name': 'note.txt', 'data.size': 5, 'data.content_type': /^text\/plain/ },
        keep: { file: 'data.file_cache_key' },
      },
      {
        says: 'an attachment and an image of an email',
        request: 'POST /v1/emails',
        body: {
          ...{ from: 'app@a.test', to: 'bob@b.test', subject: 's', html: '<img src="cid:logo">' },
          attachments: [{ file_cache_key: '{file}', name: 'again.txt' }],
          inline_images: [{ file_cache_key: '{file}', cid: 'logo' }],
        },
        status: 201,
        keep: { with_file: 'id' },
      },
      {
        says: 'under the name that the email gives it',
        request: 'GET /v1/emails/:id',
        id: '{with_file}',
        holds: { 'attachments.0.filename': 'again.txt', 'attachments.0.size': 5 },
      },
      {
        says: "another workspace's file",
        request: 'POST /v1/emails',
        as: 'foreign',
        body: {
          from: 'app@other.test',
          to: 'bob@b.test',
          subject: 's',
          text: 't',
          attachments: [{ file_cache_key: '{file}', name: 'a' }],
        },
        refused: { code: 'validation_error', fields: ['attachments[0].file_cache_key'] },
      },
      {
        says: 'without a name',
        headers: multipartType,
        body: multipart('hello'),
        refused: { code: 'missing_required_field', fields: ['name'] },
      },
      {
        says: 'without a file',
        query: { name: 'a.txt' },
        headers: multipartType,
        body: emptyForm,
        refused: { code: 'missing_required_field', fields: ['file'] },
      },
      {
        says: 'that is no form',
        query: { name: 'a.txt' },
        body: { file: 'x' },
        refused: { code: 'unsupported_media_type' },
      },
      {
        says: 'over 10 MB',
        query: { name: 'a.bin' },
        headers: multipartType,
        body: multipart(Buffer.alloc(10_485_761)),
        refused: { code: 'attachment_too_large' },
      },
    ],
  },
]

export const templates: Resource = { name: 'Templates', rows: templateRows }
export const files: Resource = { name: 'Files', rows: fileRows }
