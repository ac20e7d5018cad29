/** The paths of hosted services whose clients are served: their routes, their documents, and their errors. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ApiContext } from '../context/api-context.js'
import { type Place, serviceOf } from '../context/place.js'
import type { ErrorBody } from '../error-answer.js'
import { type CompatibleService, type ServiceError, toOwnError } from '../route/compatible-service.js'
import type { Route } from '../route/route.js'
import type { Endpoint, RouteTable } from './route-table.js'

export interface CompatibleSettings {
  readonly services: readonly CompatibleService[]
  /** The OpenAPI document of a service, as JSON. */
  readonly readDocument: (service: CompatibleService) => string
  /** Says what to do about a path of a service that is not served. Null if the path is of none. */
  readonly explainPath: (path: string) => string | null
}

export const noCompatible: CompatibleSettings = { services: [], readDocument: () => '', explainPath: () => null }

export class CompatiblePaths {
  private services: readonly CompatibleService[] = []

  constructor(private readonly table: RouteTable) {}

  serve(
    { services, readDocument, explainPath }: CompatibleSettings,
    endpointOf: (route: Route) => Endpoint,
    documentEndpoint: (path: string, read: () => string) => Endpoint,
  ): void {
    this.services = services
    this.table.explainPaths(explainPath)
    for (const service of services) {
      const path = `/openapi/${service.name}.json`
      this.table.mount('/v1', [documentEndpoint(path, () => readDocument(service))])
      this.table.mount(`compatible:${service.name}`, service.routes.map(endpointOf))
    }
  }

  /** The place of a request, which is that of a service if the request is one of its clients. */
  placeOf(place: Place, headers: IncomingHttpHeaders): Place {
    const service = place.mount === '/v1' ? this.services.find(({ owns }) => owns(place.path, headers)) : undefined
    return service === undefined ? place : { ...place, mount: `compatible:${service.name}` }
  }

  /** Names the request to the client in the answer, where the client looks for its id. */
  nameRequest(ctx: ApiContext): void {
    const field = this.serviceOf(ctx)?.requestIdField
    if (field !== undefined) ctx.res.setHeader(field, ctx.state.identity.requestId)
  }

  /** An error as the client of this request reads it. */
  toError(ctx: ApiContext, body: ErrorBody): ServiceError {
    return this.serviceOf(ctx)?.toError(body, ctx.state.identity.requestId) ?? toOwnError(body)
  }

  private serviceOf({ state: { place } }: ApiContext): CompatibleService | undefined {
    return this.services.find(({ name }) => name === serviceOf(place.mount))
  }
}
