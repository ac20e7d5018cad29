/** The header fields of answers that the OpenAPI document describes. */
import type { ZodOpenApiComponentsObject } from 'zod-openapi'

type Headers = NonNullable<ZodOpenApiComponentsObject['headers']>
const describeHeader = (description: string, type: 'string' | 'integer', example: string | number) => ({
  description,
  schema: { type },
  example,
})

export const headerFields = {
  'X-Request-Id': describeHeader(
    'The `X-Request-Id` of the request if it was valid, else a new one. The log has it.',
    'string',
    'a1',
  ),
  'X-RateLimit-Limit': describeHeader('Requests allowed in the window that is nearest to its limit.', 'integer', 1_000),
  'X-RateLimit-Remaining': describeHeader('Requests left in that window.', 'integer', 999),
  'X-RateLimit-Reset': describeHeader(
    'When that window has room again, in seconds since 1970.',
    'integer',
    1_896_080_400,
  ),
  'X-Message-Id': describeHeader('The id of the first email.', 'string', '01a1ff35-3880-7ef5-bbba-0d7e1de2529c'),
  'Retry-After': describeHeader('Seconds to wait before the next attempt.', 'integer', 1),
  Allow: describeHeader('The methods of the path.', 'string', 'GET, POST'),
  Location: describeHeader('Where it leads to.', 'string', 'https://example.com/spring'),
  'Content-Disposition': describeHeader('The file name.', 'string', 'attachment; filename="bill.pdf"'),
  'Accept-Ranges': describeHeader('Ranges may be requested; absent where the answer is compressed.', 'string', 'bytes'),
  'Content-Range': describeHeader('The bytes of this answer, and the size of the file.', 'string', 'bytes 0-999/5000'),
  ETag: describeHeader('Names these bytes, for `If-Range`.', 'string', '"0197b9e5-5000"'),
} as const satisfies Headers

export type HeaderName = keyof typeof headerFields
