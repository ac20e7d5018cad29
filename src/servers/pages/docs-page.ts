/**
 * The documentation of the REST interface: one HTML page, rendered once from the OpenAPI document, so that it agrees
 * with the schemas that validate. It has no script and loads nothing; endpoints unfold by HTML's `details`.
 */
import { html, type Markup } from '../../base/mail/markup.js'
import { type Page, renderPage } from './layout.js'
import {
  type Content,
  type DocumentedEndpoint,
  describeSchema,
  type Field,
  formatType,
  listEndpoints,
  listFields,
  listWebhooks,
  type OpenApi,
  type Operation,
  type Parameter,
  type Response,
  resolveResponse,
  type Schema,
} from './openapi-document.js'

export function renderDocsPage(document: object): Page {
  const api = document as OpenApi
  const groups = api.tags.map(({ name }) => {
    const ofGroup = ({ operation }: DocumentedEndpoint): boolean => operation.tags.includes(name)
    const [endpoints, webhooks] = [listEndpoints(api).filter(ofGroup), listWebhooks(api).filter(ofGroup)]
    return { name, id: anchorOf(name), endpoints, webhooks }
  })
  const { title, version, description } = api.info
  return renderPage(
    200,
    `${title}: the interface`,
    html`<div class="docs">
<div class="index">
<input type="checkbox" id="index"><label for="index">Index</label>
<nav aria-label="Endpoints">${groups.map(
      (group) => html`<a href="#${group.id}"><b>${group.name}</b></a>
<ul>${group.endpoints.map(renderIndexEntry)}${group.webhooks.map(renderWebhookEntry)}</ul>
`,
    )}</nav>
</div>
<main>
<h1>${title} <span class="lead">${version}</span></h1>
<p>${renderProse(description)}</p>
<p>It answers at <code>${api.servers[0]?.url ?? ''}</code>, over HTTPS alone. Every request needs a key,
<code>Authorization: Bearer KEY</code>, unless its description says otherwise. Bodies are JSON in UTF-8. The same as this page
for tools: <a href="../v1/openapi.json">/v1/openapi.json</a>.</p>
${errorFormat}
${groups.map(
  (group) => html`<section>
<h2 id="${group.id}">${group.name}</h2>
${group.endpoints.map((endpoint) => renderEndpoint(api, endpoint))}
${group.webhooks.map((webhook) => renderWebhook(api, webhook))}
</section>
`,
)}</main>
</div>`,
  )
}

const errorFormat = html`<p>All refusals have one form, with a code that the endpoint lists:</p>
<pre>{"error": {"code": "validation_error", "message": "…", "status": 400, "details": {…}}}</pre>`

function anchorOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

function renderIndexEntry({ method, path, operation }: DocumentedEndpoint): Markup {
  return html`<li><a href="#${operation.operationId}"><span class="${method}">${method.toUpperCase()}</span> ${stripVersion(path)}</a></li>`
}

/** The path without its version, which saves room in the index. */
function stripVersion(path: string): string {
  return path.replace(/^\/v1/, '')
}

function renderEndpoint(api: OpenApi, { method, path, operation }: DocumentedEndpoint): Markup {
  const { operationId, summary, description, security } = operation
  return html`<details id="${operationId}" open>
<summary><h3><span class="method ${method}">${method.toUpperCase()}</span><span class="path">${path}</span>
<span class="lead">${summary}</span></h3></summary>
<div>
${description === undefined ? null : html`<p>${renderProse(description)}</p>`}
${security === undefined ? null : html`<p>Needs no key.</p>`}
${renderParameters(api, operation)}
${renderBody(api, operation)}
${renderRequestExample(api, { method, path, operation })}
${renderAnswers(api, operation)}
</div>
</details>
`
}

function renderWebhookEntry({ path, operation }: DocumentedEndpoint): Markup {
  return html`<li><a href="#${operation.operationId}"><span class="post">EVENT</span> ${path}</a></li>`
}

/** The request that a webhook sends, with its body. */
function renderWebhook(api: OpenApi, { path, operation }: DocumentedEndpoint): Markup {
  return html`<details id="${operation.operationId}" open>
<summary><h3><span class="method post">EVENT</span><span class="path">${path}</span>
<span class="lead">${renderProse(operation.summary)}</span></h3></summary>
<div>
${renderParameters(api, operation)}
${renderBody(api, operation)}
${renderAnswerExample(operation.requestBody?.content ?? {})}
</div>
</details>
`
}

function renderParameters(api: OpenApi, { parameters = [] }: Operation): Markup | null {
  if (parameters.length === 0) return null
  const toField = ({ name, in: place, required = false, description, schema }: Parameter): Field => ({
    path: name,
    type: `${formatType(api, schema)}, ${place}`,
    required,
    description: describeSchema(api, description === undefined ? schema : { ...schema, description }),
  })
  return html`<h4>Parameters</h4>${renderFieldTable(parameters.map(toField), 'request')}`
}

function renderBody(api: OpenApi, { requestBody }: Operation): Markup | null {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (type === undefined || content?.schema === undefined) return null
  return html`<h4>Body, ${type}</h4>${renderSchemaTable(api, content.schema, 'request')}`
}

function renderAnswers(api: OpenApi, { responses }: Operation): readonly Markup[] {
  const all = Object.entries(responses).map(([status, it]): [string, Response] => [status, resolveResponse(api, it)])
  const good = all.filter(([status]) => status < '400')
  // 405 would stand at every endpoint and says nothing about one.
  const refused = all.filter(([status]) => status >= '400' && status !== '405')
  return [
    ...good.map(([status, { description, content = {} }]) => {
      const [type, shape] = Object.entries(content)[0] ?? []
      const schema = type === 'application/json' ? shape?.schema : undefined
      return html`<h4>Answer ${status}</h4><p>${renderProse(description)}${type === undefined || schema !== undefined ? null : html` <code>${type}</code>`}</p>
${schema === undefined ? null : renderSchemaTable(api, schema, 'answer')}
${renderAnswerExample(content)}`
    }),
    html`<h4>Refusals</h4><table>${refused.map(
      ([status, { description }]) => html`<tr><td class="type">${status}</td><td>${renderCodes(description)}</td></tr>`,
    )}</table>`,
  ]
}

/** The description lists them as `a`, `b`. */
function renderCodes(description: string): readonly Markup[] {
  return [...description.matchAll(/`([^`]+)`/g)].map(([, code = '']) => html`<code>${code}</code> `)
}

/** A request's table marks required fields, an answer's table those that may be absent. */
type Side = 'request' | 'answer'

function renderSchemaTable(api: OpenApi, schema: Schema, side: Side): Markup {
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
function renderProse(text: string): readonly Markup[] {
  return text.split('`').map((part, place) => (place % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
}

/** Examples of an endpoint on the documentation page: the request as a curl command, and the answer. */
function renderRequestExample(api: OpenApi, { method, path, operation }: DocumentedEndpoint): Markup {
  const { parameters = [], requestBody, security } = operation
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const address = `${api.servers[0]?.url ?? ''}${fillPath(path, parameters)}`
  const parts = [
    `curl ${method === 'get' || (requestBody !== undefined && method === 'post') ? '' : `-X ${method.toUpperCase()} `}${quoteForShell(address)}`,
    ...(security === undefined ? ["-H 'Authorization: Bearer KEY'"] : []),
    ...(type === undefined ? [] : formatBodyOptions(type, media?.example)),
  ]
  return html`<h4>Example</h4><pre><code>${parts.join(' \\\n  ')}</code></pre>`
}

/** Null if the document has none. */
function renderAnswerExample(content: Content): Markup | null {
  const [media] = Object.values(content)
  if (media?.example === undefined) return null
  return html`<h4>Example</h4><pre><code>${formatExample(media.example)}</code></pre>`
}

function formatBodyOptions(type: string, example: unknown): readonly string[] {
  if (type === 'multipart/form-data') return ["-F 'file=@FILE'"]
  return [`-H ${quoteForShell(`Content-Type: ${type}`)}`, `-d ${quoteForShell(formatExample(example ?? {}))}`]
}

function formatExample(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}

/** The path with its parameters, and the required ones of the query. */
function fillPath(path: string, parameters: readonly Parameter[]): string {
  const query = parameters.filter((it) => it.in === 'query' && it.required === true)
  const queryString = query.map((it) => `${it.name}=${encodeURIComponent(sampleOf(it))}`).join('&')
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())
  return queryString === '' ? filledPath : `${filledPath}?${queryString}`
}

function sampleOf({ name, schema }: Parameter): string {
  return String(schema.examples?.[0] ?? name.toUpperCase())
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
