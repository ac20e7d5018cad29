/** Builds all routes of the REST interface, in the order of its document. */

import type { ReadSettings } from '../../base/config/live-config.js'
import { createAddressGuard } from '../../base/platform/address-guard.js'
import type { Clock } from '../../base/platform/clock.js'
import { createMemoryBudget } from '../../base/platform/memory/budget.js'
import { createBroadcastSwitch } from '../../outbound/broadcasts/broadcast-switch.js'
import { composeEmail } from '../../outbound/sending/compose-email.js'
import type { ComposeThread } from '../../outbound/sending/compose-thread.js'
import type { EmailCommitter } from '../../outbound/sending/email-committer.js'
import type { EmailPreparer } from '../../outbound/sending/email-preparer.js'
import type { FindVerifiedDomain } from '../../outbound/sending/sender-policy.js'
import { createContentFiller } from '../../outbound/sending/template-content.js'
import { buildUnsubscribeUrl, createUnsubscribeLinks } from '../../outbound/sending/unsubscribe-links.js'
import type { Hit } from '../../outbound/tracking/hit.js'
import { createHtmlChangeFinder } from '../../outbound/tracking/links.js'
import type { EmailTracker } from '../../outbound/tracking/track-email.js'
import type { TrackingBaseFor } from '../../outbound/tracking/tracking-host.js'
import { exportFolder } from '../../records/exports/export-file.js'
import type { MessageReader } from '../../records/messages/mime/mime-parts.js'
import type { PasswordDeps } from '../../servers/api/account/password.js'
import { audienceFileRoutes } from '../../servers/api/audiences/audience-files.js'
import { type AudienceDeps, audienceRoutes } from '../../servers/api/audiences/audiences.js'
import { bulkRoute } from '../../servers/api/audiences/bulk-contacts.js'
import { contactRoutes } from '../../servers/api/audiences/contacts.js'
import { type BreakerRouteDeps, breakerRoutes } from '../../servers/api/breakers/breakers.js'
import { type BroadcastActDeps, broadcastActRoutes } from '../../servers/api/broadcasts/broadcast-acts.js'
import { broadcastRoutes } from '../../servers/api/broadcasts/broadcasts.js'
import { fileRoutes } from '../../servers/api/content/files.js'
import { templateRoutes } from '../../servers/api/content/templates.js'
import { batchRoute } from '../../servers/api/emails/batch.js'
import { cancelRoute, rescheduleRoute } from '../../servers/api/emails/change.js'
import { clicksRoute } from '../../servers/api/emails/clicks.js'
import { type CreateDeps, createRoute } from '../../servers/api/emails/create.js'
import { listRoute } from '../../servers/api/emails/list.js'
import { rawRoute, showRoute } from '../../servers/api/emails/show.js'
import { createStoredParts } from '../../servers/api/emails/stored-parts.js'
import { eventRoutes } from '../../servers/api/events/events.js'
import { exportDownloadRoute } from '../../servers/api/exports/download.js'
import { type ExportDeps, exportRoutes } from '../../servers/api/exports/exports.js'
import type { Route } from '../../servers/api/http/route.js'
import { importRoute } from '../../servers/api/imports/imports.js'
import type { ImportRouteDeps } from '../../servers/api/imports/run-file-import.js'
import { attachmentsRoute, downloadRoute } from '../../servers/api/inbound/attachments.js'
import { feedbackRoute } from '../../servers/api/inbound/feedback.js'
import { inboundForwardsRoute } from '../../servers/api/inbound/forwards.js'
import { listRoute as listInboundRoute } from '../../servers/api/inbound/list.js'
import { replyRoute } from '../../servers/api/inbound/reply.js'
import {
  deleteRoute,
  rawRoute as rawInboundRoute,
  showRoute as showInboundRoute,
} from '../../servers/api/inbound/show.js'
import { linkMetricsRoute } from '../../servers/api/metrics/links.js'
import { metricsRoute } from '../../servers/api/metrics/metrics.js'
import { verifyRoutes } from '../../servers/api/sms/verify.js'
import { suppressionImportRoute } from '../../servers/api/suppressions/suppression-file.js'
import { suppressionRoutes } from '../../servers/api/suppressions/suppressions.js'
import { deliveryRoutes } from '../../servers/api/webhooks/deliveries.js'
import { type WebhookDeps, webhookRoutes } from '../../servers/api/webhooks/webhooks.js'
import { apiKeyRoutes } from '../../servers/api/workspaces/api-keys.js'
import { auditLogRoutes } from '../../servers/api/workspaces/audit-log.js'
import { invitationRoutes } from '../../servers/api/workspaces/invitations.js'
import { type MemberDeps, memberRoutes } from '../../servers/api/workspaces/members.js'
import { transferRoute } from '../../servers/api/workspaces/transfer.js'
import { usageRoutes } from '../../servers/api/workspaces/usage.js'
import { workspaceRoutes } from '../../servers/api/workspaces/workspaces.js'
import { createBatchQuotaCheck } from '../../workspaces/accounts/limits/quota.js'
import type { AcceptDeps } from '../../workspaces/accounts/sessions/accept-invitation.js'
import type { CheckSession } from '../../workspaces/accounts/sessions/session-check.js'
import type { TemplateCache } from '../../workspaces/content/template-cache.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import { createUrlCheck } from '../../workspaces/webhooks/webhook-url.js'
import { buildDomainRoutes, type DomainRouteDeps } from './domain-routes.js'
import { openRoutes } from './open-routes.js'
import type { Operator } from './operator.js'
import type { Sms } from './sms.js'
import type { Limits } from './workspace-limits.js'

const MB = 1_048_576
/** Bytes of files to import in memory: in total, and per workspace. */
const IMPORT_MEMORY = { all: 200 * MB, share: 100 * MB }
/** Bytes of cached files and rendered templates in memory: in total, and per workspace. */
const CONTENT_MEMORY = { all: 128 * MB, share: 64 * MB }

export interface RouteDeps extends DomainRouteDeps {
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly limits: Limits
  readonly preparer: EmailPreparer
  readonly findVerifiedDomain: FindVerifiedDomain
  readonly committer: EmailCommitter
  readonly tracker: EmailTracker
  readonly composeLarge: ComposeThread['compose']
  readonly renderLarge: ComposeThread['render']
  readonly previewLarge: ComposeThread['preview']
  readonly trackingBaseFor: TrackingBaseFor
  readonly mime: MessageReader
  readonly templates: TemplateCache
  readonly identity: ServiceIdentity
  /** False: the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  /** Queue entries of a workspace were rescheduled to this time. */
  readonly onDueChanged: (workspaceId: string, at: number) => void
  /** Records an open or a click, later. */
  readonly recordHit: (hit: Hit) => void
  readonly sms: Pick<Sms, 'sendCode' | 'checkCode' | 'applyReceipt'>
  /** The callbacks drop what is cached of the changed thing, and nothing else. */
  readonly onKeyRevoked: (keyId: string) => void
  readonly onAudienceDeleted: AudienceDeps['onAudienceDeleted']
  readonly onBroadcastChanged: BroadcastActDeps['onBroadcastChanged']
  readonly onScopesReleased: BreakerRouteDeps['onReleased']
  readonly onImportStarted: ImportRouteDeps['onImportStarted']
  readonly onExportRequested: ExportDeps['onExportRequested']
  readonly onWebhookChanged: WebhookDeps['onWebhookChanged']
  readonly onWebhookDeleted: WebhookDeps['onWebhookDeleted']
  readonly acceptDeps: AcceptDeps
  readonly accountDeps: PasswordDeps
  readonly checkSession: CheckSession
  /** PEM, of the certificate that is served now. */
  readonly certificateOf: () => string
  readonly operator: Operator
  readonly onInvited: MemberDeps['onMemberInvited']
  readonly onMemberChanged: MemberDeps['onMemberChanged']
  readonly onWorkspaceClosed: (workspaceId: string) => void
}

export function buildApiRoutes(deps: RouteDeps): readonly Route[] {
  const { database, onKeyRevoked } = deps
  const { read, commit } = database
  const files = {
    memory: deps.limits.shareByOwner(createMemoryBudget(IMPORT_MEMORY.all), IMPORT_MEMORY.share),
    hasDiskSpace: deps.hasDiskSpace,
  }
  const importing = { read, commit, clock: deps.clock, files, onImportStarted: deps.onImportStarted }
  const creating = buildCreateDeps(deps)
  return [
    ...apiKeyRoutes({ read, commit, onKeyRevoked }),
    ...emailRoutes(deps, creating),
    ...contactRoutes({ read, commit }),
    bulkRoute({ read, commit }),
    ...audienceRoutes({ read, commit, onAudienceDeleted: deps.onAudienceDeleted }),
    ...audienceFileRoutes(importing),
    ...broadcastEndpoints(deps),
    ...breakerRoutes({ read, commit, broadcasts: createBroadcastSwitch(read), onReleased: deps.onScopesReleased }),
    ...contentRoutes(deps),
    ...buildDomainRoutes(deps),
    ...eventRoutes({ read }),
    ...suppressionRoutes({ read, commit }),
    suppressionImportRoute(importing),
    importRoute({ read }),
    ...inboundRoutes(deps, creating),
    ...peopleRoutes(deps),
    ...numberRoutes(deps),
    ...auditLogRoutes({ read }),
    ...webhookEndpoints(deps),
    ...exportEndpoints(deps),
    ...verifyRoutes(deps.sms),
    ...openRoutes(deps),
  ]
}

function buildCreateDeps(deps: RouteDeps): CreateDeps {
  const { config, database, preparer, tracker, committer, hasDiskSpace, templates, identity } = deps
  const { read } = database
  const memory = deps.limits.shareByOwner(createMemoryBudget(CONTENT_MEMORY.all), CONTENT_MEMORY.share)
  const links = createUnsubscribeLinks({ secret: identity.returnPathSecret, baseFor: deps.trackingBaseFor })
  const from = { read, templates, memory, filler: createContentFiller(links, deps.renderLarge) }
  const stored: CreateDeps['createStoredParts'] = (workspaceId, now) => createStoredParts(from, workspaceId, now)
  return {
    read,
    compose: composeEmail({
      ...{ hostname: config.service.hostname, publicUrl: config.service.public_url, preparer, tracker, links },
      ...{ trackingBaseFor: deps.trackingBaseFor, composeLarge: deps.composeLarge },
    }),
    committer,
    createStoredParts: stored,
    hasDiskSpace,
  }
}

function broadcastEndpoints(deps: RouteDeps): readonly Route[] {
  const { config, database, preparer, findVerifiedDomain, committer, hasDiskSpace, onBroadcastChanged } = deps
  const { hostname, public_url: publicUrl } = config.service
  const { read, commit } = database
  const composing = {
    ...{ hostname, publicUrl, trackingBaseFor: deps.trackingBaseFor },
    secret: deps.identity.returnPathSecret,
  }
  return [
    ...broadcastRoutes({ read, commit }),
    ...broadcastActRoutes({
      ...{ read, commit, composing, preparer, findVerifiedDomain },
      ...{ committer, hasDiskSpace, onBroadcastChanged },
    }),
  ]
}

function contentRoutes({ config, database, clock, templates, hasDiskSpace, renderLarge }: RouteDeps): readonly Route[] {
  const { read, commit } = database
  const sampleUnsubscribeUrl = buildUnsubscribeUrl(config.service.public_url, 'preview')
  return [
    ...templateRoutes({ read, commit, templates, sampleUnsubscribeUrl, renderLarge }),
    ...fileRoutes({ read, commit, clock, hasDiskSpace }),
  ]
}

function emailRoutes(deps: RouteDeps, creating: CreateDeps): readonly Route[] {
  const { database, limits, mime, onDueChanged } = deps
  const { read, commit } = database
  const reading = { read, mime, findHtmlChange: createHtmlChangeFinder(read) }
  const changing = { ...reading, commit, onDueChanged }
  return [
    createRoute(creating),
    batchRoute({ ...creating, refusalOf: createBatchQuotaCheck({ read, planOf: limits.plans.find }) }),
    listRoute(reading),
    showRoute(reading),
    rawRoute(reading),
    clicksRoute(reading),
    rescheduleRoute(changing),
    cancelRoute(changing),
  ]
}

function numberRoutes({ settings, database: { read }, limits }: RouteDeps): readonly Route[] {
  const smsPerDay = (): number => settings().sms.limits.per_workspace_per_day
  return [
    metricsRoute({ read }),
    linkMetricsRoute({ read }),
    ...usageRoutes({ read, planOf: limits.plans.find, inboundBytes: limits.inboundBytes, smsPerDay }),
  ]
}

function peopleRoutes(deps: RouteDeps): readonly Route[] {
  const { settings, database, acceptDeps, onInvited: onMemberInvited, onMemberChanged, onWorkspaceClosed } = deps
  const { read, commit } = database
  const invitationsPerDay = (): number => settings().limits.invitations_per_day
  return [
    ...workspaceRoutes({
      read,
      commit,
      onWorkspaceClosed,
      planOf: deps.limits.plans.find,
      limits: () => settings().limits,
    }),
    transferRoute({ ...deps.accountDeps, onMemberChanged }),
    ...memberRoutes({ read, commit, onMemberInvited, onMemberChanged, invitationsPerDay }),
    ...invitationRoutes({ read, commit, acceptDeps }),
  ]
}

function webhookEndpoints(deps: RouteDeps): readonly Route[] {
  const { settings, database, rotationDeps, onWebhookChanged, onWebhookDeleted } = deps
  const { read, commit } = database
  const checkUrl = createUrlCheck({
    mayConnect: (address) => createAddressGuard(settings().webhooks.allowed_private_networks)(address),
    resolveAddresses: rotationDeps.resolver.resolveAddresses,
  })
  return [
    ...webhookRoutes({ read, commit, checkUrl, onWebhookChanged, onWebhookDeleted }),
    ...deliveryRoutes({ read, commit, onWebhookChanged }),
  ]
}

export function buildExportDeps({
  config,
  database,
  identity,
  hasDiskSpace,
  onExportRequested,
}: RouteDeps): ExportDeps {
  const { read, commit } = database
  const { data_dir: dataDir, public_url: publicUrl } = config.service
  const files = { folder: exportFolder(dataDir), lifetime: config.retention.exports, secret: identity.linkSecret }
  return { read, commit, ...files, publicUrl, hasDiskSpace, onExportRequested }
}

function exportEndpoints(deps: RouteDeps): readonly Route[] {
  const exporting = buildExportDeps(deps)
  return [...exportRoutes(exporting), exportDownloadRoute(exporting)]
}

function inboundRoutes(deps: RouteDeps, creating: CreateDeps): readonly Route[] {
  const { config, database, mime, identity } = deps
  const { read, commit } = database
  const reading = { read, commit, mime }
  const linking = { ...reading, secret: identity.linkSecret, publicUrl: config.service.public_url }
  return [
    listInboundRoute(reading),
    showInboundRoute(reading),
    rawInboundRoute(reading),
    attachmentsRoute(linking),
    downloadRoute(linking),
    inboundForwardsRoute(reading),
    replyRoute(creating),
    feedbackRoute(reading),
    deleteRoute(reading),
  ]
}
