/** The description of an answer, for the OpenAPI document. */
import type { z } from 'zod'
import type { HeaderName } from './output/header-fields.js'

export interface DocumentedAnswer {
  readonly description: string
  /** The schema of a JSON body. */
  readonly schema?: z.ZodType
  /** The media type of a body that is not JSON. */
  readonly type?: string
  /** An example of the body; without it, that of JSON comes from its schema. */
  readonly example?: unknown
  /** Header fields beyond those of every answer. */
  readonly headers?: readonly HeaderName[]
}
