/**
 * One operation on the pages of the documentation: what it does and samples in four languages. Fields, answers and
 * refusals unfold.
 */
import { html, type Markup } from '../../base/mail/markup.js'
import { type SampleRequest, writeSamples } from './code-samples.js'
import { renderBody, renderParameters, renderProse, renderSchemaTable } from './docs-fields.js'
import {
  type Content,
  type DocumentedEndpoint,
  type OpenApi,
  type Operation,
  type Parameter,
  type Response,
  resolveResponse,
} from './openapi-document.js'

export function renderEndpoint(api: OpenApi, endpoint: DocumentedEndpoint): Markup {
  const { method, path, operation } = endpoint
  const { operationId, summary, description, security } = operation
  return html`<section class="operation" id="${operationId}">
<h2><span class="method ${method}">${method.toUpperCase()}</span><span class="path">${path}</span>
<span class="lead">${summary}</span></h2>
${description === undefined ? null : html`<p>${renderProse(description)}</p>`}
${security === undefined ? null : html`<p>Needs no key.</p>`}
${renderSamples(buildSampleRequest(api, endpoint), operationId)}
${renderFold('Fields of the request', [renderParameters(api, operation), renderBody(api, operation)])}
${renderAnswers(api, operation)}
${security === undefined ? html`<p><a class="try" href="../try/${operationId}">Try it in the dashboard</a></p>` : null}
</section>
`
}

/** The request that a webhook sends, with its body. */
export function renderWebhook(api: OpenApi, { path, operation }: DocumentedEndpoint): Markup {
  return html`<section class="operation" id="${operation.operationId}">
<h2><span class="method post">EVENT</span><span class="path">${path}</span>
<span class="lead">${renderProse(operation.summary)}</span></h2>
${renderFold('Fields of the request', [renderParameters(api, operation), renderBody(api, operation)])}
${renderFold('Example', [renderExample(operation.requestBody?.content ?? {})])}
</section>
`
}

/** Null if there is nothing to unfold. */
function renderFold(title: string, parts: readonly (Markup | null)[]): Markup | null {
  const shown = parts.filter((part) => part !== null)
  return shown.length === 0 ? null : html`<details><summary>${title}</summary><div>${shown}</div></details>`
}

/** One of the languages is shown: the style follows the choice, without a script. */
function renderSamples(request: SampleRequest, operationId: string): Markup {
  const samples = writeSamples(request)
  return html`<fieldset class="samples"><legend>Sample</legend>
${samples.map(
  (
    { language },
    place,
  ) => html`<input type="radio" name="sample-${operationId}" id="sample-${operationId}-${place}"${place === 0 ? checkedMark : null}>
<label for="sample-${operationId}-${place}">${language}</label>
`,
)}${samples.map(({ code }) => html`<pre><code>${code}</code></pre>\n`)}</fieldset>`
}

const checkedMark = html` checked`

function renderAnswers(api: OpenApi, { responses }: Operation): readonly Markup[] {
  const all = Object.entries(responses).map(([status, it]): [string, Response] => [status, resolveResponse(api, it)])
  // 405 would stand at every operation and says nothing about one.
  const refused = all.filter(([status]) => status >= '400' && status !== '405')
  const parts = [
    ...all.filter(([status]) => status < '400').map(([status, answer]) => renderAnswer(api, status, answer)),
    renderFold('Refusals', [
      html`<table><tbody>${refused.map(
        ([status, { description }]) =>
          html`<tr><td class="type">${status}</td><td>${renderCodes(description)}</td></tr>`,
      )}</tbody></table>`,
    ]),
  ]
  return parts.filter((part) => part !== null)
}

function renderAnswer(api: OpenApi, status: string, { description, content = {} }: Response): Markup | null {
  const [type, shape] = Object.entries(content)[0] ?? []
  const schema = type === 'application/json' ? shape?.schema : undefined
  return renderFold(`Answer ${status}`, [
    html`<p>${renderProse(description)}${type === undefined || schema !== undefined ? null : html` <code>${type}</code>`}</p>`,
    schema === undefined ? null : renderSchemaTable(api, schema, 'answer'),
    renderExample(content),
  ])
}

/** The description lists them as `a`, `b`. */
function renderCodes(description: string): readonly Markup[] {
  return [...description.matchAll(/`([^`]+)`/g)].map(([, code = '']) => html`<code>${code}</code> `)
}

/** Null if the document has none. */
function renderExample(content: Content): Markup | null {
  const [media] = Object.values(content)
  if (media?.example === undefined) return null
  return html`<h3>Example</h3><pre><code>${formatExample(media.example)}</code></pre>`
}

function formatExample(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}

function buildSampleRequest(api: OpenApi, { method, path, operation }: DocumentedEndpoint): SampleRequest {
  const { parameters = [], security } = operation
  return {
    method: method.toUpperCase(),
    url: `${api.servers[0]?.url ?? ''}${fillPath(path, parameters)}`,
    isSigned: security === undefined,
    body: buildSampleBody(operation),
  }
}

function buildSampleBody({ requestBody }: Operation): SampleRequest['body'] {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (type === undefined) return null
  if (type === 'multipart/form-data') return { kind: 'file' }
  const example = media?.example ?? {}
  return typeof example === 'string' ? { kind: 'text', type, text: example } : { kind: 'json', value: example }
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
