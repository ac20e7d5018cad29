/** Gives the REST interface its routes, its documents and its pages. */
import { runOnce } from '../../base/platform/run-once.js'
import { version } from '../../base/platform/version.js'
import { buildCompatibleServices, explainForeignPath } from '../../servers/api/compatible/compatible-services.js'
import type { CompatibleService } from '../../servers/api/http/route/compatible-service.js'
import type { Route } from '../../servers/api/http/route/route.js'
import { buildOpenApiDocument, buildServiceDocument } from '../../servers/api/openapi/openapi.js'
import type { RestApi } from '../../servers/api/rest/rest-api.js'
import type { AppFiles } from '../../servers/pages/app-files.js'
import { UiPages } from '../../servers/pages/ui-pages.js'
import { buildAcceptors, buildApiRoutes, type RouteParts } from './api-routes.js'
import { wireBrowserApi } from './browser-api.js'

export interface ServedRoutes {
  readonly routes: readonly Route[]
  /** The routes of people in a browser. */
  readonly browserRoutes: readonly Route[]
}

/** Begins to answer requests; returns the routes. `files` are those of the dashboard, or null if it is off. */
export function serveRoutes(api: RestApi, parts: RouteParts, files: AppFiles | null): ServedRoutes {
  const { service, ui, api: settings } = parts.config
  const { hostname, public_url: publicUrl } = service
  const acceptors = buildAcceptors(parts)
  const routes = buildApiRoutes(parts, acceptors)
  const buildDocument = (): object => buildOpenApiDocument(routes, { version, server: service.public_url })
  const pages = new UiPages({ acceptDeps: parts.people.acceptDeps, buildDocument, files })
  const browser = ui.enabled ? wireBrowserApi(parts) : undefined
  const readDocument = runOnce(() => JSON.stringify(buildDocument()))
  const info = { version, server: service.public_url }
  const resend = { ...parts, secret: parts.identity.linkSecret, publicUrl: service.public_url }
  const compatible = {
    services: buildCompatibleServices(settings.compatible, { ...parts, ...acceptors, hostname, publicUrl, resend }),
    readDocument: (one: CompatibleService) => JSON.stringify(buildServiceDocument(one, info)),
    explainPath: (path: string) => explainForeignPath(path, settings.compatible),
  }
  api.serve({ routes, readDocument, pages, browser, compatible })
  return { routes, browserRoutes: browser?.routes ?? [] }
}
