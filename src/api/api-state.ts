/** What the pipeline knows of a request, beside what Koa does. */
import type { ParameterizedContext } from 'koa'
import type { Visit } from './visit.js'

export interface ApiState {
  visit: Visit
}

export type ApiContext = ParameterizedContext<ApiState>
