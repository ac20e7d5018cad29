/** The bodies of requests in the OpenAPI document. */
import type { ZodOpenApiMediaTypeObject, ZodOpenApiOperationObject, ZodOpenApiRequestBodyObject } from 'zod-openapi'
import { acceptsValue } from '../http/input/absent-fields.js'
import type { FileForm } from '../http/input/upload.js'
import type { RawBody, Route } from '../http/route/route.js'
import { exampleOf } from './example.js'

export function toRequestBody(route: Route): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const { body, file, raw, otherwise } = route
  const others = [raw, otherwise?.raw ?? null].flatMap((one) => (one === null ? [] : toRawContent(one)))
  if (body !== null) {
    const { value } = exampleOf(body)
    const content = { schema: body, ...(value === undefined ? {} : { example: value }) }
    const required = !acceptsValue(body, undefined)
    return { requestBody: { required, content: { 'application/json': content, ...Object.fromEntries(others) } } }
  }
  if (others.length > 0) return { requestBody: { required: true, content: Object.fromEntries(others) } }
  return file === null ? {} : { requestBody: toFormBody(file) }
}

/** The content of a body that is no JSON, for each of its media types. */
function toRawContent({ types, schema, example }: RawBody<unknown>): [string, ZodOpenApiMediaTypeObject][] {
  return types.map((type) => [type, { schema: schema ?? rawText, ...(example === undefined ? {} : { example }) }])
}

const rawText = { type: 'string' } as const

/** The file part of a form, as OpenAPI 3.1 describes binary parts. */
function toFormBody({ description, example: content }: FileForm): ZodOpenApiRequestBodyObject {
  const file = {
    type: 'string',
    contentMediaType: 'application/octet-stream',
    description: `The file, with a filename. ${description}`,
  } as const
  const schema = { type: 'object' as const, required: ['file'], properties: { file }, additionalProperties: false }
  const example = content === undefined ? {} : { example: { file: content } }
  return { required: true, content: { 'multipart/form-data': { schema, ...example } } }
}
