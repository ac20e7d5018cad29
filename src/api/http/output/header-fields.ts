/** Header fields of answers, as the OpenAPI document describes them. */
import type { ZodOpenApiComponentsObject } from 'zod-openapi'

type Headers = NonNullable<ZodOpenApiComponentsObject['headers']>
const describeHeader = (description: string, type: 'string' | 'integer', example: string | number) => ({
  description,
  schema: { type },
  example,
})

/** Header fields of answers, by their names. */
export const headerFields = {
  'X-Request-Id': describeHeader(
    'Yours, where you sent a sane one; else one of ours, to be found in the log.',
    'string',
    'a1',
  ),
  'X-RateLimit-Limit': describeHeader('Requests that the window may hold which will be full first.', 'integer', 1_000),
  'X-RateLimit-Remaining': describeHeader('Requests that it has room for now.', 'integer', 999),
  'X-RateLimit-Reset': describeHeader('When it has room again, in seconds since 1970.', 'integer', 1_896_080_400),
  'Retry-After': describeHeader('Seconds to wait before the request is made again.', 'integer', 1),
  Allow: describeHeader('The methods that the path has.', 'string', 'GET, POST'),
  'Content-Disposition': describeHeader('To be saved, under this name.', 'string', 'attachment; filename="bill.pdf"'),
} as const satisfies Headers

export type HeaderName = keyof typeof headerFields
