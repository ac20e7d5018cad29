/**
 * A hosted service whose client libraries work unchanged: its paths, and its errors. Its routes lead to the same acts
 * as those of our interface.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import { type ErrorBody, toSentError } from '../error-answer.js'
import type { Route } from './route.js'

export interface CompatibleService {
  /** Its name in `api.compatible`. */
  readonly name: string
  /** Its name for people. */
  readonly title: string
  /** How its clients send the key, for the OpenAPI document. */
  readonly keyScheme: {
    readonly type: 'http' | 'apiKey'
    readonly scheme?: string
    readonly in?: 'header'
    readonly name?: string
  }
  /** Whether a request for this path is one of its clients. The path is below the version of our interface. */
  readonly owns: (path: string, headers: IncomingHttpHeaders) => boolean
  readonly routes: readonly Route[]
  /** The header field of answers in which its clients look for the id of the request, if there is one. */
  readonly requestIdField?: string
  /** The body of its errors. */
  readonly errorSchema: z.ZodType
  /** Says an error as its clients read it. */
  readonly toError: (body: ErrorBody, requestId: string) => ServiceError
}

export interface ServiceError {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An error of our own routes. */
export function toOwnError(body: ErrorBody): ServiceError {
  return { status: body.error.status, body: toSentError(body) }
}
