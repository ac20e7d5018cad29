/**
 * The documentation of the REST interface: a page for each resource, made from the OpenAPI document, so that it agrees with
 * the schemas that validate, and a search over all operations. The pages load nothing but the script of the dashboard that sets
 * the color scheme.
 */
import { html, type Markup } from '../../base/mail/markup.js'
import { runOnce } from '../../base/platform/run-once.js'
import { renderProse } from './docs-fields.js'
import { renderEndpoint, renderWebhook } from './docs-operation.js'
import { type Page, renderPage } from './layout.js'
import {
  type DocumentedEndpoint,
  describeSchema,
  listEndpoints,
  listFields,
  listWebhooks,
  type OpenApi,
} from './openapi-document.js'

const HOME = '/ui/docs'
/** Characters of a search. */
const MAX_SEARCH = 100
const MAX_FOUND = 60

interface Resource {
  readonly name: string
  /** The last part of its path. */
  readonly id: string
  readonly endpoints: readonly DocumentedEndpoint[]
  readonly webhooks: readonly DocumentedEndpoint[]
}

interface Searched {
  readonly resource: Resource
  readonly endpoint: DocumentedEndpoint
  /** Method, path and summary. */
  readonly title: string
  /** All that is searched, in lower case. */
  readonly text: string
}

export class DocsPages {
  private readonly api: () => OpenApi
  private readonly resources: () => readonly Resource[]
  private readonly searched: () => readonly Searched[]
  private readonly rendered = new Map<string, Page>()

  constructor(
    buildDocument: () => object,
    /** The name of the script that sets the color scheme, within the assets. Null if there is none. */
    private readonly themeScript: string | null,
  ) {
    this.api = runOnce(() => buildDocument() as OpenApi)
    this.resources = runOnce(() => listResources(this.api()))
    this.searched = runOnce(() => listSearched(this.api(), this.resources()))
  }

  has(path: string): boolean {
    return path === HOME || this.findResource(path) !== undefined
  }

  show(path: string, query: URLSearchParams): Page {
    const words = (query.get('q') ?? '').slice(0, MAX_SEARCH).trim()
    if (path === HOME && words !== '') return this.showFound(words)
    const known = this.rendered.get(path)
    if (known !== undefined) return known
    const resource = this.findResource(path)
    const page = resource === undefined ? this.showHome() : this.showResource(resource)
    this.rendered.set(path, page)
    return page
  }

  private findResource(path: string): Resource | undefined {
    if (!path.startsWith(`${HOME}/`)) return undefined
    return this.resources().find(({ id }) => path === `${HOME}/${id}`)
  }

  private showHome(): Page {
    const { title, version, description } = this.api().info
    const { servers } = this.api()
    return this.renderFrame(`${title}: the interface`, null, '', [
      html`<h1>${title}: the REST interface <span class="lead">${version}</span></h1>
<p>${renderProse(description)}</p>
<p>It answers at <code>${servers[0]?.url ?? ''}</code>, over HTTPS alone. Every request needs a key,
<code>Authorization: Bearer KEY</code>, unless its description says otherwise. Bodies are JSON in UTF-8. The same as these pages
for tools: <a href="../v1/openapi.json">/v1/openapi.json</a>.</p>
${errorFormat}`,
      ...this.resources().map(
        (
          resource,
        ) => html`<details><summary>${resource.name} <span class="lead">${countOperations(resource)}</span></summary>
<div><ul class="operations">${listAll(resource).map((one) => html`<li>${renderLink(one, `docs/${resource.id}`)}</li>`)}</ul>
<p><a href="docs/${resource.id}">All about ${resource.name}</a></p></div></details>
`,
      ),
    ])
  }

  private showResource(resource: Resource): Page {
    const { name, endpoints, webhooks } = resource
    return this.renderFrame(`${name}: the interface`, resource, '', [
      html`<h1>${name}</h1>
<ul class="operations">${listAll(resource).map((one) => html`<li>${renderLink(one, '')}</li>`)}</ul>`,
      ...endpoints.map((endpoint) => renderEndpoint(this.api(), endpoint)),
      ...webhooks.map((webhook) => renderWebhook(this.api(), webhook)),
    ])
  }

  private showFound(words: string): Page {
    const found = findOperations(this.searched(), words)
    const shown = found.slice(0, MAX_FOUND)
    return this.renderFrame('Search: the interface', null, words, [
      html`<h1>Search</h1>
<p>${found.length === 0 ? html`No operation has all these words.` : html`${String(found.length)} ${found.length === 1 ? 'result has' : 'results have'} these words.`}</p>
<ul class="operations">${shown.map(({ endpoint, resource }) => html`<li>${renderLink(endpoint, `docs/${resource.id}`)}</li>`)}</ul>`,
    ])
  }

  /** `place` is the page's resource, or null for the pages above. */
  private renderFrame(title: string, place: Resource | null, words: string, content: readonly Markup[]): Page {
    const home = place === null ? 'docs' : '../docs'
    const folder = place === null ? 'docs/' : ''
    const assets = place === null ? 'assets' : '../assets'
    const script = this.themeScript === null ? null : `${assets}/${this.themeScript}`
    return renderPage(
      200,
      title,
      html`<div class="docs">
<div class="index">
<nav class="back" aria-label="Dashboard"><a href="${place === null ? './' : '../'}">‹ Dashboard</a></nav>
<form action="${home}" method="get" role="search"><label for="q">Search</label>
<input type="search" id="q" name="q" value="${words}" maxlength="${String(MAX_SEARCH)}"></form>
<input type="checkbox" id="index"><label for="index">Resources</label>
<nav aria-label="Resources"><ul>
<li><a href="${home}"${place === null && words === '' ? currentMark : null}>Overview</a></li>
${this.resources().map(
  (one) => html`<li><a href="${folder}${one.id}"${one === place ? currentMark : null}>${one.name}</a></li>
`,
)}</ul></nav>
</div>
<main>
${content}
</main>
</div>`,
      { script },
    )
  }
}

const currentMark = html` aria-current="page"`

const errorFormat = html`<p>All refusals have one form, with a code that the endpoint lists:</p>
<pre>{"error": {"code": "validation_error", "message": "…", "status": 400, "details": {…}}}</pre>`

function listResources(api: OpenApi): readonly Resource[] {
  const [endpoints, webhooks] = [listEndpoints(api), listWebhooks(api)]
  return api.tags.map(({ name }) => {
    const isOfIt = ({ operation }: DocumentedEndpoint): boolean => operation.tags.includes(name)
    const id = name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
    return { name, id, endpoints: endpoints.filter(isOfIt), webhooks: webhooks.filter(isOfIt) }
  })
}

function countOperations({ endpoints, webhooks }: Resource): string {
  const count = (number: number, what: string): readonly string[] =>
    number === 0 ? [] : [`${number} ${what}${number === 1 ? '' : 's'}`]
  return [...count(endpoints.length, 'operation'), ...count(webhooks.length, 'event')].join(', ')
}

/** The type of an event stands in place of a path, and has no method. */
function listAll({ endpoints, webhooks }: Resource): readonly DocumentedEndpoint[] {
  return [...endpoints, ...webhooks.map((one) => ({ ...one, method: 'event' }))]
}

function renderLink({ method, path, operation }: DocumentedEndpoint, page: string): Markup {
  return html`<a href="${page}#${operation.operationId}"><span class="method ${method === 'event' ? 'post' : method}">${method.toUpperCase()}</span>
<span class="path">${path}</span></a> <span class="lead">${renderProse(operation.summary)}</span>`
}

function listSearched(api: OpenApi, resources: readonly Resource[]): readonly Searched[] {
  return resources.flatMap((resource) =>
    listAll(resource).map((endpoint) => {
      const { method, path, operation } = endpoint
      const title = `${method} ${path} ${operation.summary}`.toLowerCase()
      const parameters = (operation.parameters ?? []).map((it) => `${it.name} ${describeSchema(api, it.schema)}`)
      const bodies = Object.values(operation.requestBody?.content ?? {}).flatMap(({ schema }) =>
        schema === undefined ? [] : listFields(api, schema).map((field) => `${field.path} ${field.description}`),
      )
      const text = [title, resource.name, operation.description ?? '', ...parameters, ...bodies].join(' ').toLowerCase()
      return { resource, endpoint, title, text }
    }),
  )
}

/** Those that have every word. Those that have them in their title come first. */
function findOperations(searched: readonly Searched[], words: string): readonly Searched[] {
  const all = words.toLowerCase().split(/\s+/)
  const hasAll = (text: string): boolean => all.every((word) => text.includes(word))
  const found = searched.filter(({ text }) => hasAll(text))
  return [...found.filter(({ title }) => hasAll(title)), ...found.filter(({ title }) => !hasAll(title))]
}
