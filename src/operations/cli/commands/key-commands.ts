/** `key create|list|revoke`: the API keys of a workspace. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import { WriteConflict } from '../../../base/storage/db/write.js'
import type { Scope } from '../../../base/storage/tables/account-tables.js'
import { parseTimestamp } from '../../../outbound/sending/schedule.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import { scopes } from '../../../workspaces/accounts/access/principal.js'
import { generateKey, keysOfWorkspace } from '../../../workspaces/accounts/keys/api-keys.js'
import { createKeyAudited, revokeKeyAudited } from '../../../workspaces/accounts/keys/audited-keys.js'
import { toCreatedKeyResource, toKeyResource } from '../../../workspaces/accounts/keys/key-resource.js'
import { ownerOf } from '../../../workspaces/accounts/workspace/workspaces.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  refuseExtraWords,
  requiredOption,
  requiredWord,
  textOption,
  UsageError,
} from '../command/command.js'
import { formatMoment, formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

export async function create({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const now = clock()
  const name = requiredOption(options, 'name')
  const granted = parseScopes(textOption(options, 'scopes'))
  const expiresAt = parseExpiry(textOption(options, 'expires-at'), now)
  const { read, commit } = await database()
  const workspaceId = chooseWorkspace(read, options)
  const owner = ownerOf(read, { workspaceId })[0]
  if (owner === undefined) throw new CommandFailed(`the workspace ${workspaceId} has no owner`)
  const key = generateKey({ workspaceId, userId: owner.user_id, name, now, scopes: granted, expiresAt })
  await commit(createKeyAudited(key, operatorActor))
  return {
    json: toCreatedKeyResource(key),
    lines: [`key ${key.row.id} (${key.row.name})`, key.secret, 'It is shown this once.'],
  }
}

function parseScopes(scopeList: string | undefined): readonly Scope[] {
  if (scopeList === undefined) return ['full']
  const requested = scopeList.split(',').map((scope) => scope.trim())
  const known = scopes.filter((scope) => requested.includes(scope))
  const unknown = requested.find((scope) => !known.some((good) => good === scope))
  if (unknown === undefined) return known
  throw new UsageError(`--scopes: found "${unknown}", allowed: ${scopes.join(', ')}`)
}

function parseExpiry(given: string | undefined, now: number): number | null {
  if (given === undefined) return null
  const at = parseTimestamp(given)
  if (at !== null && at > now) return at
  const allowed = 'a moment in the future such as 2030-01-31T09:00:00Z'
  throw new UsageError(`--expires-at: found "${given}", allowed: ${allowed}`)
}

export async function list({ words, options, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const rows = keysOfWorkspace(read, { workspaceId: chooseWorkspace(read, options) })
  const lines = rows.map((row) => [
    row.id,
    row.name,
    row.key_prefix,
    formatMoment(row.last_used_at),
    formatMoment(row.revoked_at),
  ])
  return {
    json: { data: rows.map(toKeyResource) },
    lines: formatTable(['ID', 'NAME', 'PREFIX', 'LAST USED', 'REVOKED'], lines),
  }
}

export async function revoke({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'ID')
  const at = clock()
  const { read, commit } = await database()
  const workspaceId = chooseWorkspace(read, options)
  try {
    await commit(revokeKeyAudited({ workspaceId, id, at }, operatorActor))
  } catch (error) {
    if (error instanceof WriteConflict) throw new CommandFailed(`no key ${id} in this workspace that could be revoked`)
    throw error
  }
  return { json: { id, revoked_at: formatTimestamp(at) }, lines: [`revoked ${id}`] }
}
