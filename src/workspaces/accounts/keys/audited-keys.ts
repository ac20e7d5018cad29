/** Creates and revokes a key, each with its entry in the audit log, as writes of one commit. */
import { takeTurn, type Write } from '../../../base/storage/db/write.js'
import { type Actor, recordAuditEntry } from '../access/audit-log.js'
import { insertKey, type NewKey, requireKeyCreator, revokeKey, touchCreatorKey } from './api-keys.js'
import { toCreatedKeyResource } from './key-resource.js'

export function createKeyAudited(key: NewKey, actor: Actor): Write[] {
  const { id, workspace_id: workspaceId, user_id, created_at: at } = key.row
  const { name, key_prefix, scopes, expires_at, allowed_networks, allowed_domains, sender } = toCreatedKeyResource(key)
  const details = { name, key_prefix, user_id, scopes, expires_at, allowed_networks, allowed_domains, sender }
  return [
    insertKey(key.row),
    recordAuditEntry({ workspaceId, actor, action: 'api_key.created', target: id, at, details }),
  ]
}

/** Keys of one workspace are made in turn, so that their number is exact. */
const turnOf = (workspaceId: string): string => `keys of ${workspaceId}`

/**
 * Does the same at the request of a key. Misses when that key may no longer create it, or when the workspace has
 * `MAX_LIVE_KEYS`.
 */
export function createKeyByKey(
  maker: { workspaceId: string; id: string },
  key: NewKey,
  actor: Actor,
): readonly Write[] {
  const { workspace_id: forWorkspace, user_id: userId, created_at: at } = key.row
  const check = touchCreatorKey({ ...maker, at, forWorkspace, userId })
  return takeTurn(turnOf(forWorkspace), [check, ...createKeyAudited(key, actor)])
}

/** Does the same at the request of a session. */
export function createKeyBySession(key: NewKey, actor: Actor): readonly Write[] {
  const { workspace_id: workspaceId, user_id: userId } = key.row
  return takeTurn(turnOf(workspaceId), [requireKeyCreator({ workspaceId, userId }), ...createKeyAudited(key, actor)])
}

/** Misses when there is no such key in the workspace, or when it is revoked already. */
export function revokeKeyAudited(key: { workspaceId: string; id: string; at: number }, actor: Actor): Write[] {
  const { workspaceId, id, at } = key
  return [revokeKey(key), recordAuditEntry({ workspaceId, actor, action: 'api_key.revoked', target: id, at })]
}
