/** Koa's context of one request, with the state that the pipeline keeps in it. */
import type { ParameterizedContext } from 'koa'
import type { ErrorCode } from '../error-answer.js'
import type { Place } from './place.js'
import type { RequestIdentity } from './request-identity.js'
import type { Peer } from './request-source.js'

export interface ApiState {
  peer: Peer
  place: Place
  /** The line of its request is one for debugging. */
  isQuiet: boolean
  /** The path as it may be logged. */
  shownPath: string
  identity: RequestIdentity
  /** The path of the route, such as `/emails/:id`. If it is absent, no route matched. */
  route?: string
  /** Length of the answer's body. */
  bytes?: number
  /** Ids of the emails that the request accepted. */
  emails?: readonly string[]
  /** `error.code` of the answer. */
  code?: ErrorCode
}

/** The fields of `@koa/router`. */
export interface RouterFields {
  params: Readonly<Record<string, string>>
  /** The router matches it in place of the path of the URL. */
  newRouterPath?: string
  /** The routes that have the path, whatever the method is. */
  matched?: readonly { readonly path: unknown; readonly methods: readonly string[] }[]
}

export type ApiContext = ParameterizedContext<ApiState, RouterFields>
export type Next = () => Promise<unknown>
