/** What the pipeline knows of a request, beside what Koa does. */
import type { ParameterizedContext } from 'koa'
import type { ErrorCode } from '../output/error-answer.js'
import type { RequestIdentity } from '../request-identity.js'

export interface ApiState {
  identity: RequestIdentity
  /** As it is registered, such as `/emails/:id`; absent: no route was found. */
  route?: string
  /** Of the answer's body. */
  bytes?: number
  /** `error.code` of the answer. */
  code?: ErrorCode
}

export type ApiContext = ParameterizedContext<ApiState>
