/**
 * The OpenAPI documents of the interface and of the session routes, without a daemon: the routes are built with
 * dependencies that do nothing, since only their schemas are read.
 */

import { parseConfig } from '../../dist/src/base/config/load.js'
import { buildApiRoutes } from '../../dist/src/operations/daemon/api-routes.js'
import { wireBrowserApi } from '../../dist/src/operations/daemon/browser-api.js'
import { buildOpenApiDocument } from '../../dist/src/servers/api/openapi/openapi.js'

const info = { version: '0', server: '/' }

export async function buildDocuments() {
  const deps = createInertDeps()
  return {
    api: buildOpenApiDocument(buildApiRoutes(deps, deps), info),
    session: JSON.parse(wireBrowserApi(deps).readDocument()),
  }
}

function createInertDeps() {
  const place = { hostname: 'mail.example.com', home: '/', isRoot: false, stateHome: undefined }
  const { config } = parseConfig('', 'defaults', place)
  return new Proxy({ config }, { get: (deps, name) => deps[name] ?? inert })
}

/** Can be called, read and iterated, and answers itself. */
const inert = new Proxy(() => undefined, {
  apply: () => inert,
  get: (_, name) => {
    if (name === Symbol.toPrimitive) return () => 'inert'
    return name === Symbol.iterator ? [][Symbol.iterator].bind([]) : inert
  },
})
