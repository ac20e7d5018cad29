/** Every route of the interface, in the order of its document, made of the rooms below. */
import type { AcceptDeps } from '../accounts/accept-invitation.js'
import { batchRefusal } from '../accounts/quota.js'
import { apiKeyRoutes } from '../api/api-keys.js'
import { auditLogRoutes } from '../api/audit-log.js'
import { type DomainPlace, domainRoutes } from '../api/domains.js'
import { batchRoute } from '../api/emails/batch.js'
import { cancelRoute, rescheduleRoute } from '../api/emails/change.js'
import { type CreateDeps, createRoute } from '../api/emails/create.js'
import { listRoute } from '../api/emails/list.js'
import { rawRoute, showRoute } from '../api/emails/show.js'
import { attachmentsRoute, downloadRoute } from '../api/inbound/attachments.js'
import { feedbackRoute } from '../api/inbound/feedback.js'
import { listRoute as listInboundRoute } from '../api/inbound/list.js'
import { replyRoute } from '../api/inbound/reply.js'
import { deleteRoute, rawRoute as rawInboundRoute, showRoute as showInboundRoute } from '../api/inbound/show.js'
import { invitationRoutes } from '../api/invitations.js'
import { type MemberDeps, memberRoutes } from '../api/members.js'
import type { Route } from '../api/route.js'
import { suppressionRoutes } from '../api/suppressions.js'
import { usageRoutes } from '../api/usage.js'
import { workspaceRoutes } from '../api/workspaces.js'
import type { Config } from '../config/complete.js'
import type { GoneDomain } from '../messages/fail-domain.js'
import type { MimeReader } from '../messages/mime-parts.js'
import { composeEmail } from '../sending/compose-email.js'
import type { PrepareEmail } from '../sending/prepare-email.js'
import type { Take } from '../sending/take.js'
import type { Database } from '../storage/database.js'
import type { Identity } from './identity.js'
import type { Limits } from './limits.js'

export interface RouteParts {
  readonly config: Config
  readonly database: Database
  readonly limits: Limits
  readonly prepare: PrepareEmail
  readonly take: Take
  readonly mime: MimeReader
  readonly identity: Identity
  /** False: the disk is nearly full. */
  readonly mayTake: () => boolean
  /** Entries of a workspace were moved to this moment. */
  readonly noticeDue: (workspaceId: string, at: number) => void
  /** Our own acts forget what they touch, and nothing of others. */
  readonly keyRevoked: (keyId: string) => void
  readonly domainChanged: (place: DomainPlace) => void
  readonly domainDeleted: (gone: GoneDomain) => void
  readonly accepting: AcceptDeps
  readonly invited: MemberDeps['invited']
  readonly memberChanged: MemberDeps['memberChanged']
  readonly workspaceClosed: (workspaceId: string) => void
}

export function apiRoutes(parts: RouteParts): readonly Route[] {
  const { config, database, limits, keyRevoked, domainChanged: changed, domainDeleted: deleted } = parts
  const { read, commit } = database
  return [
    ...apiKeyRoutes({ read, commit, revoked: keyRevoked }),
    ...emailRoutes(parts),
    ...domainRoutes({ read, commit, changed, deleted, names: config.service }),
    ...suppressionRoutes({ read, commit }),
    ...inboundRoutes(parts),
    ...peopleRoutes(parts),
    ...usageRoutes({ read, planOf: limits.plans.of }),
    ...auditLogRoutes({ read }),
  ]
}

function creatingIn({ config, database: { read }, prepare, take, mayTake }: RouteParts): CreateDeps {
  return { read, compose: composeEmail({ hostname: config.service.hostname, prepare }), take, mayTake }
}

function emailRoutes(parts: RouteParts): readonly Route[] {
  const { database, limits, mime, noticeDue } = parts
  const { read, commit } = database
  const creating = creatingIn(parts)
  const reading = { read, mime }
  const changing = { ...reading, commit, noticeDue }
  return [
    createRoute(creating),
    batchRoute({ ...creating, refusalOf: batchRefusal({ read, planOf: limits.plans.of }) }),
    listRoute(reading),
    showRoute(reading),
    rawRoute(reading),
    rescheduleRoute(changing),
    cancelRoute(changing),
  ]
}

function peopleRoutes(parts: RouteParts): readonly Route[] {
  const { config, database, accepting, invited, memberChanged, workspaceClosed: closed } = parts
  const { read, commit } = database
  return [
    ...workspaceRoutes({ read, commit, plan: config.limits.default_plan, closed }),
    ...memberRoutes({ read, commit, invited, memberChanged }),
    ...invitationRoutes({ read, commit, accepting }),
  ]
}

function inboundRoutes(parts: RouteParts): readonly Route[] {
  const { config, database, mime, identity } = parts
  const { read, commit } = database
  const reading = { read, commit, mime }
  const linking = { ...reading, secret: identity.linkSecret, publicUrl: config.service.public_url }
  return [
    listInboundRoute(reading),
    showInboundRoute(reading),
    rawInboundRoute(reading),
    attachmentsRoute(linking),
    downloadRoute(linking),
    replyRoute(creatingIn(parts)),
    feedbackRoute(reading),
    deleteRoute(reading),
  ]
}
