/**
 * The schemas of the OpenAPI document, as named components.
 *
 * A schema is named by its `id`; a body or answer without one is named after its operation. Requests
 * must not have other fields; answers may get more in later versions, which clients must accept.
 */
import type { z } from 'zod'
import type { CreateDocumentOptions, createDocument, ZodOpenApiResponseObject } from 'zod-openapi'
import { acceptsValue } from '../http/input/absent-fields.js'
import type { Route } from '../http/route/route.js'

type Override = NonNullable<CreateDocumentOptions['override']>
type JsonSchema = Parameters<Override>[0]['jsonSchema']

export const documentSchema: Override = ({ jsonSchema, zodSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  const { def } = zodSchema._zod
  if (io === 'input' && def.type === 'object') setRequired(jsonSchema, def.shape)
  if (io === 'input') describeDefault(jsonSchema)
  removeNoise(jsonSchema)
}

/** The fields of a request that its schema does not accept as absent. */
function setRequired(jsonSchema: JsonSchema, shape: z.core.$ZodShape): void {
  const required = Object.keys(shape).filter(
    (name) => shape[name] !== undefined && !acceptsValue(shape[name], undefined),
  )
  if (required.length > 0) jsonSchema.required = required
  else delete jsonSchema.required
}

/** Moves the default into the description: client generators make a field with a `default` required. */
function describeDefault(jsonSchema: JsonSchema): void {
  const { default: usual, description = '' } = jsonSchema
  if (usual === undefined) return
  delete jsonSchema.default
  if (description.includes('Default')) return
  jsonSchema.description = `${description} Default ${JSON.stringify(usual)}.`.trim()
}

/** Removes details that tell a reader nothing: bounds of safe integers, the pattern of a named format. */
function removeNoise(jsonSchema: JsonSchema): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  const { example } = jsonSchema
  delete jsonSchema['example']
  // The example of an object or a list is next to the body.
  if (example !== undefined && typeof example !== 'object') jsonSchema.examples = [example]
}

type Document = ReturnType<typeof createDocument>
type Content = NonNullable<ZodOpenApiResponseObject['content']>

/** Makes unnamed JSON bodies components named after their operation. Changes the document. */
export function nameBodies(document: Document): void {
  const schemas = { ...document.components?.schemas }
  const name = (content: unknown, given: string): void => {
    const json = (content as Content | undefined)?.['application/json']
    if (typeof json?.schema !== 'object' || '$ref' in json.schema) return
    schemas[given] = json.schema as (typeof schemas)[string]
    json.schema = { $ref: `#/components/schemas/${given}` }
  }
  for (const operation of operationsOf(document)) {
    const { operationId: id = '', requestBody, responses = {} } = operation
    if (requestBody !== undefined && 'content' in requestBody) name(requestBody.content, `${toPascalCase(id)}Request`)
    const answers = Object.entries(responses).filter(([, it]) => 'content' in it)
    for (const [status, answer] of answers) {
      name(
        (answer as { readonly content: unknown }).content,
        `${toPascalCase(id)}Answer${answers.length > 1 ? status : ''}`,
      )
    }
  }
  document.components = { ...document.components, schemas }
}

function operationsOf({ paths = {} }: Document): readonly OperationObject[] {
  return Object.values(paths).flatMap((path) => Object.values(path as Readonly<Record<string, OperationObject>>))
}

type OperationObject = NonNullable<NonNullable<Document['paths']>[string]['get']>

/** `POST /emails/:id/cancel` is `post_emails_id_cancel`. */
export function operationIdOf({ method, path }: Pick<Route, 'method' | 'path'>): string {
  return `${method.toLowerCase()}${path.replace(/[^a-z0-9]+/gi, '_')}`
}

/** `PostEmailsIdCancel` of `post_emails_id_cancel`. */
export function toPascalCase(words: string): string {
  return words.replace(/(?:^|_)([a-z0-9])/gi, (_, letter: string) => letter.toUpperCase())
}
