/** Finds an operation in the OpenAPI document of the server, and makes the request that a form describes. */
import { toFieldError, toNetworkError } from '../../api/api-error.ts'
import type { PlainRequest } from '../../api/client.ts'
import { readExactText, readFile, readText } from '../../components/form-values.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
}

export interface Operation {
  /** It is in upper case. */
  readonly method: string
  /** `/v1/domains/{id}`. */
  readonly path: string
  readonly summary: string
  readonly parameters: readonly Parameter[]
  readonly body: { readonly type: string; readonly example: string } | null
  /** Its resource on the pages of the documentation. */
  readonly resource: string
}

interface DocumentedOperation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
}

/** Resolves to null if there is no operation with this id. */
export async function loadOperation(id: string): Promise<Operation | null> {
  const response = await fetch('/v1/openapi.json').catch(() => {
    throw toNetworkError()
  })
  const { paths }: Document = await response.json()
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, found] of Object.entries(operations)) {
      if (found.operationId === id) return toOperation(method, path, found)
    }
  }
  return null
}

function toOperation(method: string, path: string, found: DocumentedOperation): Operation {
  const { summary, tags, parameters = [], requestBody } = found
  const [content] = Object.entries(requestBody?.content ?? {})
  return {
    ...{ method: method.toUpperCase(), path, summary, parameters },
    body: content === undefined ? null : { type: content[0], example: formatExample(content[1].example) },
    resource: (tags[0] ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '-'),
  }
}

function formatExample(example: unknown): string {
  if (example === undefined) return ''
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}

/** The field of the body in the form. Names of parameters begin with `parameter-`. */
export const BODY_FIELD = 'body'

export function fieldOf({ name }: Pick<Parameter, 'name'>): string {
  return `parameter-${name}`
}

/** Throws an ApiError at the field that has no value or no JSON. */
export function readRequest({ method, path, parameters, body }: Operation, values: FormData): PlainRequest {
  const given = parameters
    .map((parameter) => ({ ...parameter, value: readText(values, fieldOf(parameter)) }))
    .filter((parameter) => parameter.value !== '' || requireValue(parameter))
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(given.find((one) => one.in === 'path' && one.name === name)?.value ?? ''),
  )
  const query = new URLSearchParams(
    given.filter((one) => one.in === 'query').map(({ name, value }): [string, string] => [name, value]),
  ).toString()
  const headers = given.filter((one) => one.in === 'header').map(({ name, value }) => [name, value] as const)
  const sent = body === null ? null : readBody(body.type, values)
  const type = body === null || sent instanceof FormData ? [] : [['Content-Type', body.type] as const]
  return {
    method,
    path: `/v1/${filled.replace(/^\/v1\//, '')}${query === '' ? '' : `?${query}`}`,
    headers: Object.fromEntries([...headers, ...type]),
    body: sent,
  }
}

/** Returns false for a parameter that may be absent. */
function requireValue(parameter: Parameter): false {
  if (parameter.in !== 'path' && parameter.required !== true) return false
  throw toFieldError(fieldOf(parameter), 'Enter a value.')
}

function readBody(type: string, values: FormData): string | FormData {
  if (type === 'multipart/form-data') {
    const file = readFile(values, BODY_FIELD)
    if (file === null) throw toFieldError(BODY_FIELD, 'Choose a file.')
    const form = new FormData()
    form.set('file', file)
    return form
  }
  const text = readExactText(values, BODY_FIELD)
  if (type !== 'application/json') return text
  try {
    JSON.parse(text)
  } catch (error) {
    throw toFieldError(BODY_FIELD, `This is no JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`)
  }
  return text
}
