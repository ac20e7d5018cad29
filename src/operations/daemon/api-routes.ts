/** Builds all routes of the REST interface, in the order of its document. */

import { createAddressGuard } from '../../base/platform/address-guard.js'
import { MemoryBudget } from '../../base/platform/memory/budget.js'
import type { Store } from '../../base/storage/db/database.js'
import { StoredBroadcasts } from '../../outbound/broadcasts/broadcast-switch.js'
import { BroadcastComposer } from '../../outbound/broadcasts/compose-broadcast.js'
import { ContactMessages } from '../../outbound/broadcasts/contact-message.js'
import { EmailComposer } from '../../outbound/sending/email-composer.js'
import { LineWrapper } from '../../outbound/sending/line-wrapper.js'
import { ContentFiller } from '../../outbound/sending/template-content.js'
import { buildUnsubscribeUrl, UnsubscribeLinks } from '../../outbound/sending/unsubscribe-links.js'
import { createHtmlChangeFinder } from '../../outbound/tracking/links.js'
import { audienceFileRoutes } from '../../servers/api/audiences/audience-files.js'
import { audienceRoutes } from '../../servers/api/audiences/audiences.js'
import { bulkRoute } from '../../servers/api/audiences/bulk-contacts.js'
import { contactRoutes } from '../../servers/api/audiences/contacts.js'
import type { PreviewRouteDeps } from '../../servers/api/audiences/import-preview.js'
import { breakerRoutes } from '../../servers/api/breakers/breakers.js'
import { type BroadcastActDeps, broadcastActRoutes } from '../../servers/api/broadcasts/broadcast-acts.js'
import { broadcastCopyRoute } from '../../servers/api/broadcasts/broadcast-copies.js'
import { broadcastRecipientsRoute } from '../../servers/api/broadcasts/broadcast-recipients.js'
import { broadcastRoutes } from '../../servers/api/broadcasts/broadcasts.js'
import type { Changes } from '../../servers/api/changes.js'
import { fileRoutes } from '../../servers/api/content/files.js'
import { templateRoutes } from '../../servers/api/content/templates.js'
import { domainRoutes } from '../../servers/api/domains/domains.js'
import { forwardTargetRoutes } from '../../servers/api/domains/forward-target.js'
import { forwardRoutes } from '../../servers/api/domains/forwards.js'
import { batchRoute } from '../../servers/api/emails/batch.js'
import { cancelRoute, rescheduleRoute } from '../../servers/api/emails/change.js'
import { clicksRoute } from '../../servers/api/emails/clicks.js'
import { createRoute } from '../../servers/api/emails/create.js'
import { EmailAcceptance } from '../../servers/api/emails/email-acceptance.js'
import { listRoute } from '../../servers/api/emails/list.js'
import { MessageAcceptance } from '../../servers/api/emails/message-acceptance.js'
import { sendMessageRoute } from '../../servers/api/emails/send-message.js'
import { rawRoute, showRoute } from '../../servers/api/emails/show.js'
import { storyRoute } from '../../servers/api/emails/story.js'
import { eventRoutes } from '../../servers/api/events/events.js'
import { exportDownloadRoute } from '../../servers/api/exports/download.js'
import { type ExportDeps, exportRoutes } from '../../servers/api/exports/exports.js'
import type { Route } from '../../servers/api/http/route/route.js'
import { importRoute } from '../../servers/api/imports/imports.js'
import { attachmentsRoute, downloadRoute, messageDownloadRoute } from '../../servers/api/inbound/attachments.js'
import { feedbackRoute } from '../../servers/api/inbound/feedback.js'
import { inboundForwardsRoute } from '../../servers/api/inbound/forwards.js'
import { inboundListRoute } from '../../servers/api/inbound/list.js'
import { replyRoute } from '../../servers/api/inbound/reply.js'
import { deleteRoute, inboundRawRoute, inboundShowRoute } from '../../servers/api/inbound/show.js'
import { linkMetricsRoute } from '../../servers/api/metrics/links.js'
import { metricsRoute } from '../../servers/api/metrics/metrics.js'
import { receiptRoutes } from '../../servers/api/sms/receipts.js'
import { verifyRoutes } from '../../servers/api/sms/verify.js'
import { suppressionImportRoute } from '../../servers/api/suppressions/suppression-file.js'
import { suppressionRoutes } from '../../servers/api/suppressions/suppressions.js'
import { trackingRoutes } from '../../servers/api/tracking/tracking.js'
import { unsubscribeRoutes } from '../../servers/api/unsubscribe/unsubscribe.js'
import { deliveryRoutes } from '../../servers/api/webhooks/deliveries.js'
import { webhookRoutes } from '../../servers/api/webhooks/webhooks.js'
import { apiKeyRoutes } from '../../servers/api/workspaces/api-keys.js'
import { auditLogRoutes } from '../../servers/api/workspaces/audit-log.js'
import { invitationRoutes } from '../../servers/api/workspaces/invitations.js'
import { memberRoutes } from '../../servers/api/workspaces/members.js'
import { transferRoute } from '../../servers/api/workspaces/transfer.js'
import { usageRoutes } from '../../servers/api/workspaces/usage.js'
import { workspaceRoutes } from '../../servers/api/workspaces/workspaces.js'
import { renderForwardPage } from '../../servers/pages/forward-page.js'
import { renderNotePage } from '../../servers/pages/layout.js'
import { renderUnsubscribePage, unknownUnsubscribePage } from '../../servers/pages/unsubscribe-page.js'
import { CheckLimiter } from '../../workspaces/domains/verify-domain.js'
import { UrlCheck } from '../../workspaces/webhooks/webhook-url.js'
import type { StartOptions } from './daemon-options.js'
import type { Operator } from './operator.js'
import type { Sending } from './sending.js'
import type { Services } from './services.js'

const MB = 1_048_576
/** Bytes of files to import in memory, in total and per workspace. */
const IMPORT_MEMORY = { all: 200 * MB, share: 100 * MB }
/** Bytes of cached files and rendered templates in memory, in total and per workspace. */
const CONTENT_MEMORY = { all: 128 * MB, share: 64 * MB }

/** The objects that the routes use: everything behind the listeners, and what was made for them. */
export interface RouteParts extends Services, Sending, Store, Pick<StartOptions, 'config' | 'settings' | 'clock'> {
  readonly operator: Operator
  readonly changes: Changes
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  /** PEM, of the certificate that is served now. */
  readonly certificateOf: () => string
  /** The open ports of submission. */
  readonly smtpEndpoints: readonly { readonly host: string; readonly port: number; readonly tls: boolean }[]
  /** The open ports of the interface that have TLS. */
  readonly apiPorts: readonly number[]
}

const unknownLinkPage = renderNotePage(
  404,
  'This link is not known',
  'It may be incomplete, or the message is so old that its links were removed.',
)

/** What accepts mail, for our routes and those of other services. */
interface MailAcceptors {
  readonly acceptance: EmailAcceptance
  readonly messages: MessageAcceptance
}

export function buildApiRoutes(parts: RouteParts, { acceptance, messages }: MailAcceptors): readonly Route[] {
  const { config, read, commit, identity, people } = parts
  const { public_url: publicUrl } = config.service
  const importing = buildImportDeps(parts)
  const exporting = buildExportDeps(parts)
  const reading = { read, mime: parts.mime, findHtmlChange: createHtmlChangeFinder(read) }
  const changing = { ...parts, ...reading }
  const linking = { ...parts, publicUrl, secret: identity.linkSecret }
  const webhooks = { ...parts, urls: buildUrlCheck(parts) }
  const ofMail = { read, commit, secret: identity.returnPathSecret, unknownLinkPage }
  return [
    ...apiKeyRoutes(parts),
    createRoute(acceptance, sendMessageRoute(messages)),
    batchRoute(acceptance),
    listRoute(reading),
    showRoute(reading),
    rawRoute(reading),
    clicksRoute(reading),
    storyRoute(reading),
    rescheduleRoute(changing),
    cancelRoute(changing),
    ...contactRoutes(parts),
    bulkRoute(parts),
    ...audienceRoutes(parts),
    ...audienceFileRoutes(importing),
    ...broadcastRoutes({ ...parts, blocks: parts.composing }),
    broadcastCopyRoute(parts),
    broadcastRecipientsRoute(read),
    ...broadcastActRoutes({ ...parts, ...buildBroadcastParts(parts), blocks: parts.composing }),
    ...breakerRoutes({ read, commit, broadcasts: new StoredBroadcasts(read), breaker: parts.breaker }),
    ...templateRoutes({ ...parts, sampleUnsubscribeUrl: buildUnsubscribeUrl(publicUrl, 'preview') }),
    ...fileRoutes(parts),
    ...forwardRoutes({ ...parts, ...people.requestForwards }),
    ...domainRoutes({
      ...{ ...parts.rotationDeps, changes: parts.changes },
      ...{ names: config.service, lookups: new CheckLimiter() },
    }),
    ...eventRoutes(parts),
    ...suppressionRoutes(parts),
    suppressionImportRoute(importing),
    importRoute(parts),
    inboundListRoute(parts),
    inboundShowRoute(parts),
    inboundRawRoute(parts),
    attachmentsRoute(linking),
    downloadRoute(linking),
    messageDownloadRoute(linking),
    inboundForwardsRoute(parts),
    replyRoute(acceptance.deps),
    feedbackRoute(parts),
    deleteRoute(parts),
    ...workspaceRoutes(parts),
    transferRoute({ ...people.accountDeps, changes: parts.changes }),
    ...memberRoutes(parts),
    ...invitationRoutes({ ...parts, acceptDeps: people.acceptDeps }),
    metricsRoute(parts),
    linkMetricsRoute(parts),
    ...usageRoutes(parts),
    ...auditLogRoutes(parts),
    ...webhookRoutes(webhooks),
    ...deliveryRoutes(webhooks),
    ...exportRoutes(exporting),
    exportDownloadRoute(exporting),
    ...verifyRoutes(parts),
    ...trackingRoutes({ ...ofMail, record: (hit) => parts.hits.record(hit) }),
    ...unsubscribeRoutes({ ...ofMail, showPage: renderUnsubscribePage, unknownLinkPage: unknownUnsubscribePage }),
    ...forwardTargetRoutes({ ...ofMail, secret: identity.linkSecret, showPage: renderForwardPage }),
    ...receiptRoutes({ secret: identity.smsSecret, sms: parts.sms }),
  ]
}

export function buildAcceptors(parts: RouteParts): MailAcceptors {
  const { config, read, limits, templates, identity, trackingHost } = parts
  const memory = limits.shareByOwner(new MemoryBudget(CONTENT_MEMORY.all), CONTENT_MEMORY.share)
  const links = new UnsubscribeLinks(identity.returnPathSecret, trackingHost)
  const storedParts = { read, templates, memory, filler: new ContentFiller(links, parts.composing) }
  const { hostname, public_url: publicUrl } = config.service
  const acceptance = new EmailAcceptance({
    ...parts,
    composer: new EmailComposer({ ...parts, hostname, publicUrl, links }),
    storedParts,
    refusalOf: (...batch) => limits.charger.findBatchRefusal(...batch),
  })
  return { acceptance, messages: new MessageAcceptance({ ...parts, lineWrapper: new LineWrapper(parts.composing) }) }
}

function buildImportDeps(parts: RouteParts): PreviewRouteDeps {
  const memory = parts.limits.shareByOwner(new MemoryBudget(IMPORT_MEMORY.all), IMPORT_MEMORY.share)
  return { ...parts, files: { memory, hasDiskSpace: parts.hasDiskSpace } }
}

function buildBroadcastParts({
  config,
  trackingHost,
  identity,
}: RouteParts): Pick<BroadcastActDeps, 'composing' | 'contactMessages'> {
  const { hostname, public_url: publicUrl } = config.service
  const composing = new BroadcastComposer(hostname, publicUrl, trackingHost)
  return { composing, contactMessages: new ContactMessages(identity.returnPathSecret, publicUrl) }
}

function buildUrlCheck({ settings, rotationDeps }: RouteParts): UrlCheck {
  return new UrlCheck({
    mayConnect: (address) => createAddressGuard(settings().webhooks.allowed_private_networks)(address),
    resolveAddresses: rotationDeps.resolver.resolveAddresses,
  })
}

export function buildExportDeps(parts: RouteParts): ExportDeps {
  const { public_url: publicUrl } = parts.config.service
  const lifetime = parts.config.retention.exports
  return { ...parts, lifetime, secret: parts.identity.linkSecret, publicUrl }
}
