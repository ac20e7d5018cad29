/** Koa's context of one request, with the state that the pipeline keeps in it. */
import type { ParameterizedContext } from 'koa'
import type { ErrorCode } from '../output/error-answer.js'
import type { RequestIdentity } from './request-identity.js'

export interface ApiState {
  identity: RequestIdentity
  /** The path of the route, such as `/emails/:id`; absent: no route matched. */
  route?: string
  /** Length of the answer's body. */
  bytes?: number
  /** Ids of the emails that the request accepted. */
  emails?: readonly string[]
  /** `error.code` of the answer. */
  code?: ErrorCode
}

export type ApiContext = ParameterizedContext<ApiState>
