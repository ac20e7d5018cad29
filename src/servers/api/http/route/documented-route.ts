/**
 * The part that routes of every kind have: path, successful answers, refusals, and their description for the OpenAPI
 * document.
 */
import type { z } from 'zod'
import type { ErrorCode } from '../error-answer.js'
import type { HeaderName } from '../output/header-fields.js'

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

export interface Common {
  /** The path below the version, such as `/emails/:id`. */
  readonly path: string
  /** The resource's name in the OpenAPI document. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Descriptions of path parameters, for the OpenAPI document; `id` is described by the tag. */
  readonly params?: Readonly<Record<string, string>>
  /** Header fields that the route reads, for the OpenAPI document. */
  readonly headers?: z.ZodObject
  /** The successful answers, by status. */
  readonly answers: Readonly<Record<number, DocumentedAnswer>>
  /** Error codes beyond those of every route. */
  readonly refusals: readonly ErrorCode[]
}
