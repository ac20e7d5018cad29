/**
 * The log of administrative acts. The commit of an act also writes its entry, so neither exists without the other.
 *
 * An entry has no secrets and no content of mail. `seq` grows with every act and is never reused, so it serves as a
 * cursor. The log keeps entries for `retention.audit`.
 */
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { toJson } from '../../../base/storage/tables/columns.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import type { Principal } from './principal.js'

export type AuditAction =
  | 'api_key.created'
  | 'api_key.revoked'
  | 'domain.created'
  | 'domain.changed'
  | 'domain.deleted'
  | 'domain.verified'
  | 'domain.failed'
  | 'domain.rotation_started'
  | 'domain.rotated'
  | 'domain.key_imported'
  | 'suppression.deleted'
  | 'suppressions.imported'
  | 'audience.deleted'
  | 'broadcast.sent'
  | 'broadcast.paused'
  | 'broadcast.resumed'
  | 'broadcast.cancelled'
  | 'broadcast.deleted'
  | 'webhook.created'
  | 'webhook.changed'
  | 'webhook.deleted'
  | 'webhook.secret_rotated'
  | 'webhook.disabled'
  | 'workspace.created'
  | 'workspace.changed'
  | 'workspace.plan_changed'
  | 'workspace.transferred'
  | 'workspace.deleted'
  | 'workspace.made_operators'
  | 'member.invited'
  | 'member.joined'
  | 'member.role_changed'
  | 'member.removed'
  | 'invitation.cancelled'
  | 'user.password_set'
  | 'user.totp_enabled'
  | 'user.totp_disabled'
  | 'user.recovery_codes_replaced'
  | 'queue.held'
  | 'queue.released'
  | 'queue.retried'
  | 'queue.deleted'
  | 'hold_rule.added'
  | 'hold_rule.removed'
  | 'sms.hold_released'
  | 'breaker.released'

/** The user or program that acts. */
export interface Actor {
  /** Id of the user, or `operator`, or `service`. */
  readonly id: string
  /** The key by which the user acted. It is null on the command line. */
  readonly keyId: string | null
}

/** The actor of the command line, which only the operator of the machine can run. */
export const operatorActor: Actor = { id: 'operator', keyId: null }

/** The actor of what the daemon does without a request. */
export const daemonActor: Actor = { id: 'service', keyId: null }

export function actorOf({ userId, keyId }: Principal): Actor {
  return userId === null ? operatorActor : { id: userId, keyId }
}

interface AuditEntry {
  readonly workspaceId: string
  readonly actor: Actor
  readonly action: AuditAction
  /** Id of the object of the act. */
  readonly target: string
  readonly at: number
  readonly details?: Readonly<Record<string, unknown>>
}

const insert = prepareWrite<Omit<Tables['audit_log'], 'seq'>>(({ db, slot }) =>
  db.insertInto('audit_log').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    at: slot('at'),
    actor: slot('actor'),
    action: slot('action'),
    target: slot('target'),
    details: slot('details'),
  }),
)

export function recordAuditEntry({ workspaceId, actor, action, target, at, details = {} }: AuditEntry): Write {
  const byKey = actor.keyId === null ? {} : { by_key: actor.keyId }
  return insert({
    id: uuidv7(at),
    workspace_id: workspaceId,
    at,
    actor: actor.id,
    action,
    target,
    details: toJson({ ...details, ...byKey }),
  })
}

/** The cursor before the newest act: it is greater than every `seq`. */
export const BEFORE_NEWEST = Number.MAX_SAFE_INTEGER

/** The acts with a smaller `seq` than `before`, newest first. */
export const auditEntriesOfWorkspace = prepareRead<{ workspaceId: string; before: number; limit: number }>()(
  ({ db, slot }) =>
    db
      .selectFrom('audit_log')
      .select(['seq', 'id', 'at', 'actor', 'action', 'target', 'details'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where('seq', '<', slot('before'))
      .orderBy('seq', 'desc')
      .limit(slot('limit')),
)

const STEP_SIZE = 500

const oldestEntry = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('audit_log').select(['seq', 'at']).orderBy('seq').limit(1),
)

const removeEntries = prepareWrite<{ before: number; seq: number }>(({ db, slot }) =>
  db.deleteFrom('audit_log').where('seq', '<=', slot('seq')).where('at', '<', slot('before')),
)

/** Removes some of the acts older than `before`. Resolves to whether there may be more. */
export async function removeOldAuditEntries({ read, commit }: Store, before: number): Promise<boolean> {
  const [oldest] = await oldestEntry(read, {})
  if (oldest === undefined || oldest.at >= before) return false
  await commit([removeEntries({ before, seq: oldest.seq + STEP_SIZE })])
  return true
}
