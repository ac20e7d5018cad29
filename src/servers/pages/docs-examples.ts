/** Examples of an endpoint on the documentation page: the request as a curl command, and the answer. */
import { html, type Markup } from '../../base/mail/markup.js'
import type { Content, Endpoint, OpenApi, Parameter } from './openapi-document.js'

export function renderRequestExample(api: OpenApi, { method, path, operation }: Endpoint): Markup {
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
export function renderAnswerExample(content: Content): Markup | null {
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
