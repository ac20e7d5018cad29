/** The fields of requests and answers on the pages of the documentation, as tables. */
import { html, type Markup } from '../../base/mail/markup.js'
import {
  describeSchema,
  type Field,
  formatType,
  listFields,
  type OpenApi,
  type Operation,
  type Parameter,
  type Schema,
} from './openapi-document.js'

/** A request's table marks required fields, an answer's table those that may be absent. */
type Side = 'request' | 'answer'

export function renderParameters(api: OpenApi, { parameters = [] }: Operation): Markup | null {
  if (parameters.length === 0) return null
  const toField = ({ name, in: place, required = false, description, schema }: Parameter): Field => ({
    path: name,
    type: `${formatType(api, schema)}, ${place}`,
    required,
    description: describeSchema(api, description === undefined ? schema : { ...schema, description }),
  })
  return html`<h3>Parameters</h3>${renderFieldTable(parameters.map(toField), 'request')}`
}

export function renderBody(api: OpenApi, { requestBody }: Operation): Markup | null {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (type === undefined || content?.schema === undefined) return null
  return html`<h3>Body, ${type}</h3>${renderSchemaTable(api, content.schema, 'request')}`
}

export function renderSchemaTable(api: OpenApi, schema: Schema, side: Side): Markup {
  const fields = listFields(api, schema)
  return fields.length === 0 ? html`<p>${formatType(api, schema)}</p>` : renderFieldTable(fields, side)
}

function renderFieldTable(fields: readonly Field[], side: Side): Markup {
  return html`<table><thead><tr><th>name</th><th>type</th><th>meaning</th></tr></thead><tbody>
${fields.map((field) => renderRow(field, side))}</tbody></table>`
}

function renderRow({ path, type, required, description }: Field, side: Side): Markup {
  return html`<tr><td><code>${path}</code>${renderMark(required, side)}</td><td class="type">${type}</td><td>${renderProse(description)}</td></tr>
`
}

function renderMark(required: boolean, side: Side): Markup | null {
  if (side === 'request') return required ? html`<span class="must">required</span>` : null
  return required ? null : html`<span class="may">not always</span>`
}

/** Text between backticks is code. */
export function renderProse(text: string): readonly Markup[] {
  return text.split('`').map((part, place) => (place % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
}
