/** Wires the REST door to the rooms below it. */
import type { KeyRing } from '../accounts/key-ring.js'
import { apiApp } from '../api/app.js'
import { bearerKey } from '../api/bearer-key.js'
import { clientAddress } from '../api/client-address.js'
import { batchRoute } from '../api/emails/batch.js'
import { createRoute } from '../api/emails/create.js'
import { type ApiListener, listenForRequests } from '../api/listener.js'
import { openApiDocument } from '../api/openapi.js'
import type { Route } from '../api/route.js'
import type { Config } from '../config/complete.js'
import type { DomainBook } from '../domains/domain-book.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { TlsFiles } from '../platform/tls-files.js'
import { composeEmail } from '../sending/compose-email.js'
import type { PrepareEmail } from '../sending/prepare-email.js'
import type { Take } from '../sending/take.js'
import type { Database } from '../storage/database.js'

/** Of the interface, in the OpenAPI document. */
const VERSION = '1.0.0'

export interface ApiParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly tls: TlsFiles
  readonly database: Database
  readonly keyRing: KeyRing
  readonly domains: DomainBook
  readonly prepare: PrepareEmail
  readonly take: Take
  /** False: the disk is nearly full. */
  readonly mayTake: () => boolean
  /** Keys, members, domains or the queue were changed: nothing that was remembered counts any more. */
  readonly changed: () => void
}

export interface Api {
  readonly listener: ApiListener
  readonly routes: readonly Route[]
}

export async function openApi(parts: ApiParts): Promise<Api> {
  const { config, clock, log, tls, keyRing } = parts
  const routes = apiRoutes(parts)
  const document = openApiDocument(routes, { version: VERSION, server: `https://${config.service.hostname}` })
  const app = apiApp(routes, {
    admit: (ctx) => keyRing.admit(bearerKey(ctx.get('authorization')), clientAddress(ctx)),
    remoteAddress: clientAddress,
    document: JSON.stringify(document),
    clock,
    log,
  })
  return { listener: await listenForRequests(app, { listen: config.api.listen, tls }), routes }
}

/** Every route of the interface, in the order of its document. */
function apiRoutes({ config, database, prepare, take, mayTake }: ApiParts): readonly Route[] {
  const compose = composeEmail({ hostname: config.service.hostname, prepare })
  const creating = { read: database.read, compose, take, mayTake }
  return [createRoute(creating), batchRoute(creating)]
}
