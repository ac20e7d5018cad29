/** The fields of templates in requests and answers. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { MAX_VARIABLES } from '../../../workspaces/content/change-template.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import type { Template } from '../../../workspaces/content/templates.js'
import { oneLine } from '../emails/email-fields.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { name, timestamp, uuid } from '../http/input/values.js'
import { blocksAnswer, blocksRequest, ifUpdatedAt, oneSource, showStoredBlocks } from './blocks-field.js'

const subject = oneLine
  .max(MAX_SUBJECT)
  .meta({ description: 'One line; line ends in values are removed.', example: 'Hello {{first_name}}' })
/** A request may name a template by it. */
const templateAlias = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'allowed: 1 to 64 of a-z, 0-9, ".", "_" and "-", not a sign first')
  .meta({ example: 'welcome' })
const alias = templateAlias.nullable().meta({
  description: 'Unique in the workspace. `template_alias` of an email names the template by it.',
  example: 'welcome',
})
const html = z.string().nullable().meta({
  description: 'Values are escaped, except those of `{{{name}}}`; `{{name|text}}` has a default.',
  example: '<p>Hello {{first_name}}</p>',
})
const text = z
  .string()
  .nullable()
  .meta({ description: 'Without it, emails have a text made from the HTML.', example: 'Hello {{first_name}}' })
const variableName = oneLine.min(1).max(1_000)
const variable = z.union([
  variableName,
  z
    .strictObject({
      key: variableName,
      type: z.enum(['string', 'number']).optional().meta({ description: 'Ignored.' }),
      fallback_value: z
        .union([z.string(), z.number()])
        .optional()
        .refine(
          (value) => value === undefined,
          'is not supported: write the default in the template, as {{name|default}}',
        ),
    })
    .transform(({ key }) => key),
])
const variables = withMaxSize(
  MAX_VARIABLES,
  'variables',
  z.array(variable).max(MAX_VARIABLES, `at most ${MAX_VARIABLES} variables`),
)
  .nullable()
  .meta({ description: 'Variables that are used and not listed are appended; without a list, all that are used.' })

export const templateRequest = z
  .strictObject({
    name,
    alias: alias.default(null),
    subject,
    html: html.default(null),
    text: text.default(null),
    blocks: blocksRequest.default(null),
    variables: variables.default(null),
  })
  .check(oneSource)
  .meta({
    id: 'TemplateRequest',
    example: { name: 'Welcome', subject: 'Hello {{first_name}}', html: '<p>Hello {{first_name}}</p>' },
  })

export const templateChange = z
  .strictObject({
    name: name.optional(),
    alias: alias.optional(),
    subject: subject.optional(),
    html: html.optional(),
    text: text.optional(),
    blocks: blocksRequest.optional(),
    variables: variables.optional(),
    if_updated_at: ifUpdatedAt,
  })
  .check(oneSource)
  .meta({ id: 'TemplateChange', example: { subject: 'Welcome, {{first_name}}' } })

const fields = {
  object: z.literal('template'),
  id: uuid,
  name: z.string().meta({ example: 'Welcome' }),
  alias: z.string().nullable().meta({ example: 'welcome' }),
  subject: z.string().meta({ example: 'Hello {{first_name}}' }),
  html: z.string().nullable().meta({ example: '<p>Hello {{first_name}}</p>' }),
  text: z.string().nullable().meta({ example: 'Hello {{first_name}}' }),
  blocks: blocksAnswer,
  variables: z.array(z.string()),
  status: z.literal('published'),
  created_at: timestamp,
}

export const createdTemplate = z.strictObject(fields).meta({ id: 'CreatedTemplate' })
export const templateRecord = z.strictObject({ ...fields, updated_at: timestamp }).meta({ id: 'Template' })

type CreatedTemplate = z.output<typeof createdTemplate>
type TemplateRow = Pick<
  Template,
  'id' | 'name' | 'alias' | 'subject' | 'html' | 'text' | 'blocks' | 'variables' | 'created_at'
>

export function toCreatedTemplate({
  id,
  name,
  alias,
  subject,
  html,
  text,
  blocks,
  variables,
  created_at,
}: TemplateRow): CreatedTemplate {
  const names = parseJson(variables)
  const words = { name, alias, subject, html, text, blocks: showStoredBlocks(blocks), variables: [...names] }
  return { object: 'template', id, ...words, status: 'published', created_at: iso(created_at) }
}

export function toTemplateResource(row: TemplateRow & Pick<Template, 'updated_at'>): z.output<typeof templateRecord> {
  return { ...toCreatedTemplate(row), updated_at: iso(row.updated_at) }
}
