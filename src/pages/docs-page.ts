/**
 * The documentation of the interface for people: one page, written once from the OpenAPI
 * document, so that it says what the schemas that validate say. It runs nothing and asks for
 * nothing from anywhere; endpoints unfold by the browser's own means.
 */

import { html, type Markup } from '../mail/markup.js'
import { answerExample, requestExample } from './docs-examples.js'
import { type Page, pageOf } from './layout.js'
import {
  about,
  type Endpoint,
  endpointsOf,
  type Field,
  fieldsOf,
  type OpenApi,
  type Operation,
  type Parameter,
  type Response,
  responseOf,
  type Schema,
  typeOf,
} from './openapi-form.js'

export function docsPage(document: object): Page {
  const api = document as OpenApi
  const endpoints = endpointsOf(api)
  const groups = api.tags.map(({ name }) => ({
    name,
    id: idOf(name),
    endpoints: endpoints.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const { title, version, description } = api.info
  return pageOf(
    200,
    `${title}: the interface`,
    html`<div class="docs">
<div class="index">
<input type="checkbox" id="index"><label for="index">Index</label>
<nav aria-label="Endpoints">${groups.map(
      (group) => html`<a href="#${group.id}"><b>${group.name}</b></a>
<ul>${group.endpoints.map(entry)}</ul>
`,
    )}</nav>
</div>
<main>
<h1>${title} <span class="lead">${version}</span></h1>
<p>${prose(description)}</p>
<p>It answers at <code>${api.servers[0]?.url ?? ''}</code>, over HTTPS alone. Every request bears a key,
<code>Authorization: Bearer KEY</code>, unless it says that it needs none. Bodies are JSON in UTF-8. The same as this page
for tools: <a href="../v1/openapi.json">/v1/openapi.json</a>.</p>
${errorForm}
${groups.map(
  (group) => html`<section>
<h2 id="${group.id}">${group.name}</h2>
${group.endpoints.map((endpoint) => section(api, endpoint))}
</section>
`,
)}</main>
</div>`,
  )
}

const errorForm = html`<p>What is refused is answered in one form, with the code that the endpoint lists:</p>
<pre>{"error": {"code": "validation_error", "message": "…", "status": 400, "details": {…}}}</pre>`

function idOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

function entry({ method, path, operation }: Endpoint): Markup {
  return html`<li><a href="#${operation.operationId}"><span class="${method}">${method.toUpperCase()}</span> ${bare(path)}</a></li>`
}

/** Without the version, where there is little room. */
function bare(path: string): string {
  return path.replace(/^\/v1/, '')
}

function section(api: OpenApi, { method, path, operation }: Endpoint): Markup {
  const { operationId, summary, description, security } = operation
  return html`<details id="${operationId}" open>
<summary><h3><span class="method ${method}">${method.toUpperCase()}</span><span class="path">${path}</span>
<span class="lead">${summary}</span></h3></summary>
<div>
${description === undefined ? null : html`<p>${prose(description)}</p>`}
${security === undefined ? null : html`<p>Needs no key.</p>`}
${parameters(api, operation)}
${body(api, operation)}
${requestExample(api, { method, path, operation })}
${answers(api, operation)}
</div>
</details>
`
}

function parameters(api: OpenApi, { parameters: all = [] }: Operation): Markup | null {
  if (all.length === 0) return null
  const field = ({ name, in: place, required = false, description, schema }: Parameter): Field => ({
    path: name,
    type: `${typeOf(api, schema)}, ${place}`,
    required,
    description: about(api, description === undefined ? schema : { ...schema, description }),
  })
  return html`<h4>Parameters</h4>${fieldTable(all.map(field), 'request')}`
}

function body(api: OpenApi, { requestBody }: Operation): Markup | null {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (type === undefined || content?.schema === undefined) return null
  return html`<h4>Body, ${type}</h4>${schemaTable(api, content.schema, 'request')}`
}

function answers(api: OpenApi, { responses }: Operation): readonly Markup[] {
  const all = Object.entries(responses).map(([status, it]): [string, Response] => [status, responseOf(api, it)])
  const good = all.filter(([status]) => status < '400')
  // Another method is another endpoint, or none: it is told once, on top.
  const refused = all.filter(([status]) => status >= '400' && status !== '405')
  return [
    ...good.map(([status, { description, content = {} }]) => {
      const [type, shape] = Object.entries(content)[0] ?? []
      const schema = type === 'application/json' ? shape?.schema : undefined
      return html`<h4>Answer ${status}</h4><p>${prose(description)}${type === undefined || schema !== undefined ? null : html` <code>${type}</code>`}</p>
${schema === undefined ? null : schemaTable(api, schema, 'answer')}
${answerExample(content)}`
    }),
    html`<h4>Refusals</h4><table>${refused.map(
      ([status, { description }]) => html`<tr><td class="type">${status}</td><td>${codes(description)}</td></tr>`,
    )}</table>`,
  ]
}

/** The document lists them as `a`, `b`. */
function codes(description: string): readonly Markup[] {
  return [...description.matchAll(/`([^`]+)`/g)].map(([, code = '']) => html`<code>${code}</code> `)
}

/** A request must have some fields; of an answer it is told which it may lack. */
type Side = 'request' | 'answer'

function schemaTable(api: OpenApi, schema: Schema, side: Side): Markup {
  const fields = fieldsOf(api, schema)
  return fields.length === 0 ? html`<p>${typeOf(api, schema)}</p>` : fieldTable(fields, side)
}

function fieldTable(fields: readonly Field[], side: Side): Markup {
  return html`<table><thead><tr><th>name</th><th>type</th><th>meaning</th></tr></thead><tbody>
${fields.map((field) => row(field, side))}</tbody></table>`
}

function row({ path, type, required, description }: Field, side: Side): Markup {
  return html`<tr><td><code>${path}</code>${mark(required, side)}</td><td class="type">${type}</td><td>${prose(description)}</td></tr>
`
}

function mark(required: boolean, side: Side): Markup | null {
  if (side === 'request') return required ? html`<span class="must">required</span>` : null
  return required ? null : html`<span class="may">not always</span>`
}

/** What stands between backticks is code, as everywhere in the document. */
function prose(text: string): readonly Markup[] {
  return text.split('`').map((part, place) => (place % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
}
