/**
 * The parts of an OpenAPI 3.1 document that the documentation page shows. The document is our own
 * (`api/openapi/openapi.ts`), so only the forms that it uses are supported.
 */

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  /** Set for bytes. */
  readonly contentMediaType?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Media {
  readonly schema?: Schema
  readonly example?: unknown
}

export type Content = Readonly<Record<string, Media>>

export interface Response {
  readonly description: string
  readonly content?: Content
}

export interface Operation {
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly security?: readonly object[]
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>
}

export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  /** By the type of event. */
  readonly webhooks?: OpenApi['paths']
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>
    readonly responses?: Readonly<Record<string, Response>>
  }
}

/** A response that several operations share is a component. */
export function resolveResponse(document: OpenApi, response: Operation['responses'][string]): Response {
  if (!('$ref' in response)) return response
  const name = response.$ref.split('/').at(-1) ?? ''
  return document.components?.responses?.[name] ?? { description: '' }
}

export interface DocumentedEndpoint {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

export function listEndpoints({ paths }: Pick<OpenApi, 'paths'>): readonly DocumentedEndpoint[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  )
}

/** What webhooks send: the type of event in place of a path. */
export function listWebhooks({ webhooks = {} }: OpenApi): readonly DocumentedEndpoint[] {
  return listEndpoints({ paths: webhooks })
}

/** One row of a table of fields; the fields of objects and lists follow with their full path. */
export interface Field {
  readonly path: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

/** Ends the walk over schemas that contain themselves. */
const MAX_DEPTH = 8

export function listFields(document: OpenApi, schema: Schema, above = '', depth = 0): readonly Field[] {
  const resolved = resolveSchema(document, schema)
  if (depth > MAX_DEPTH) return []
  const { properties, items, anyOf, oneOf, required = [] } = resolved
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, field]) => {
      const path = above === '' ? name : `${above}.${name}`
      const isRequired = required.includes(name)
      return [toField(document, path, field, isRequired), ...listFields(document, field, path, depth + 1)]
    })
  }
  if (items !== undefined) return listFields(document, items, `${above}[]`, depth + 1)
  const forms = removeSingles([...(anyOf ?? []), ...(oneOf ?? [])])
  return mergeForms(forms.map((form) => listFields(document, form, above, depth + 1)))
}

/** If either one item or a list of items is allowed, the fields of the list's items are enough. */
function removeSingles(forms: readonly Schema[]): readonly Schema[] {
  const listed = new Set(forms.flatMap(({ items }) => items?.$ref ?? []))
  return forms.filter(({ $ref }) => $ref === undefined || !listed.has($ref))
}

/**
 * Lists each field of several forms once, as in the first form. It is required if every form of its object requires it.
 */
function mergeForms(forms: readonly (readonly Field[])[]): readonly Field[] {
  const fields = new Map(
    forms
      .flat()
      .toReversed()
      .map((field) => [field.path, field]),
  )
  const inOrder = [...new Set(forms.flat().map(({ path }) => path))]
  return inOrder.flatMap((path) => {
    const field = fields.get(path)
    const object = objectPathOf(path)
    const withIt = forms.filter((form) => form.some((other) => objectPathOf(other.path) === object))
    const required = withIt.every((form) => form.some((other) => other.path === path && other.required))
    return field === undefined ? [] : [{ ...field, required }]
  })
}

/** `to[].address` to `to[]`. */
function objectPathOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')))
}

function toField(document: OpenApi, path: string, schema: Schema, required: boolean): Field {
  return { path, type: formatType(document, schema), required, description: describeSchema(document, schema) }
}

export function describeSchema(document: OpenApi, schema: Schema): string {
  const merged = { ...resolveSchema(document, schema), ...schema }
  const { description = '', default: usual, minimum, maximum } = merged
  const words = merged.enum ?? (merged.items === undefined ? undefined : resolveSchema(document, merged.items).enum)
  const allowed = words === undefined ? '' : `One of ${words.map((word) => JSON.stringify(word)).join(', ')}.`
  const range = isBound(minimum) && isBound(maximum) ? `From ${minimum} to ${maximum}.` : ''
  const without = usual === undefined || description.includes('Default') ? '' : `Default ${JSON.stringify(usual)}.`
  return [description, allowed, range, without].filter((part) => part !== '').join(' ')
}

/** False for the bounds of safe integers, which every integer schema has. */
function isBound(value: number | undefined): boolean {
  return value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER
}

/** The type as text, such as `string`, `integer or null` or `list of objects`. */
export function formatType(document: OpenApi, schema: Schema): string {
  const { type, items, anyOf, oneOf, format, contentMediaType, const: only } = resolveSchema(document, schema)
  if (contentMediaType !== undefined) return 'file'
  if (only !== undefined) return JSON.stringify(only)
  const branches = anyOf ?? oneOf
  if (branches !== undefined) return [...new Set(branches.map((branch) => formatType(document, branch)))].join(' or ')
  if (type === 'array') return items === undefined ? 'list' : `list of ${formatType(document, items)}`
  const names = typeof type === 'string' ? [type] : (type ?? ['any'])
  return names.map((name) => (name === 'string' && format !== undefined ? format : name)).join(' or ')
}

function resolveSchema(document: OpenApi, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (document.components?.schemas?.[name] ?? {})
}
