/** Wires the delivery of events to webhooks: the dispatcher, the addresses it may dial, and the thread of its requests. */

import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import { createAddressGuard } from '../../base/platform/address-guard.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { version } from '../../base/platform/version.js'
import type { Database } from '../../base/storage/db/database.js'
import type { MessageReader } from '../../records/messages/mime/mime-parts.js'
import type { WorkspaceDirectory } from '../../workspaces/accounts/workspace/workspace-directory.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import { Dispatcher } from '../../workspaces/webhooks/dispatcher.js'
import { EventPreparer } from '../../workspaces/webhooks/event-preparer.js'
import { RequestThread } from '../../workspaces/webhooks/request-thread.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { StopSteps } from './daemon-options.js'
import { type Edges, resolverOf } from './edges.js'

interface WebhookDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly edges: Edges
  readonly observers: Observers | null
  readonly workspaces: WorkspaceDirectory
  readonly mime: Pick<MessageReader, 'render'>
  readonly identity: ServiceIdentity
}

interface Webhooks {
  readonly webhooks: Dispatcher
  readonly webhookThread: RequestThread
}

/** `stopTimeout` is the number of milliseconds that attempts under way have to end when the daemon stops. */
export function wireWebhooks(deps: WebhookDeps, stopSteps: StopSteps, stopTimeout: number): Webhooks {
  const { config, settings, clock, log, edges, observers } = deps
  const { read, commit, node } = deps.database
  const stopped = new AbortController()
  const resolver = resolverOf(edges, config, clock, stopped.signal)
  const threadData = { userAgent: `Posthorn/${version}`, authorities: edges.authorities }
  const webhookThread = new RequestThread(threadData, (err) =>
    log.error({ err }, 'the thread of webhook requests failed: requests under way are made again'),
  )
  const { ownerOf } = deps.workspaces
  const links = { secret: deps.identity.linkSecret, publicUrl: config.service.public_url }
  const webhooks = new Dispatcher({
    ...{ read, commit, node, clock, log, ownerOf },
    preparer: new EventPreparer({ read, clock, mime: deps.mime, links, ownerOf }),
    mayConnect: (address) => createAddressGuard(settings().webhooks.allowed_private_networks)(address),
    resolveAddresses: (name) => resolver.resolveAddresses(name),
    request: (content) => webhookThread.request(content),
    timeout: () => settings().webhooks.timeout,
    retrySchedule: () => settings().webhooks.retry_schedule,
    onAttempt: observers?.onWebhookAttempt,
  })
  stopSteps.push(
    () => webhookThread.stop(),
    () => stopped.abort(),
    () => webhooks.stop(stopTimeout),
  )
  return { webhooks, webhookThread }
}
