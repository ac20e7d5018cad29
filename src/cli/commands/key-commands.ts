/** `key create|list|revoke`. */

import { operator } from '../../accounts/audit-log.js'
import { keysOfWorkspace, newKey } from '../../accounts/keys/api-keys.js'
import { createKey, endKey } from '../../accounts/keys/key-acts.js'
import { createdKeyResource, keyResource } from '../../accounts/keys/key-resource.js'
import { type Scope, scopes } from '../../accounts/principal.js'
import { ownerOf } from '../../accounts/workspaces.js'
import { timestamp } from '../../platform/clock.js'
import { momentOf } from '../../sending/schedule.js'
import { Missed } from '../../storage/writer/write.js'
import {
  type Answer,
  atMost,
  type Call,
  type Command,
  CommandFailed,
  required,
  text,
  UsageError,
  word,
} from '../command.js'
import { moment, table } from '../table.js'
import { chosenWorkspace } from '../workspace-choice.js'

export const keyCommands: readonly Command[] = [
  {
    name: 'key create',
    usage: '--name NAME [--workspace ID] [--scopes full|send|read[,...]] [--expires-at TIME]',
    summary: 'make an API key; prints it once',
    options: { name: 'string', workspace: 'string', scopes: 'string', 'expires-at': 'string' },
    run: create,
  },
  {
    name: 'key list',
    usage: '[--workspace ID]',
    summary: 'list the keys of a workspace',
    options: { workspace: 'string' },
    run: list,
  },
  {
    name: 'key revoke',
    usage: 'ID [--workspace ID]',
    summary: 'revoke a key for good; its open SMTP sessions end',
    options: { workspace: 'string' },
    noticed: true,
    run: revoke,
  },
]

async function create({ words, options, database, clock }: Call): Promise<Answer> {
  atMost(words, 0)
  const now = clock()
  const name = required(options, 'name')
  const granted = scopeList(text(options, 'scopes'))
  const expiresAt = expiry(text(options, 'expires-at'), now)
  const { read, commit } = await database()
  const workspaceId = chosenWorkspace(read, options)
  const owner = ownerOf(read, { workspaceId })[0]
  if (owner === undefined) throw new CommandFailed(`the workspace ${workspaceId} has no owner`)
  const key = newKey({ workspaceId, userId: owner.user_id, name, now, scopes: granted, expiresAt })
  await commit(createKey(key, operator))
  return {
    json: createdKeyResource(key),
    lines: [`key ${key.row.id} (${key.row.name})`, key.secret, 'It is shown this once.'],
  }
}

function scopeList(given: string | undefined): readonly Scope[] {
  if (given === undefined) return ['full']
  const wanted = given.split(',').map((scope) => scope.trim())
  const known = scopes.filter((scope) => wanted.includes(scope))
  const unknown = wanted.find((scope) => !known.some((good) => good === scope))
  if (unknown === undefined) return known
  throw new UsageError(`--scopes: found "${unknown}", allowed: ${scopes.join(', ')}`)
}

function expiry(given: string | undefined, now: number): number | null {
  if (given === undefined) return null
  const at = momentOf(given)
  if (at !== null && at > now) return at
  const allowed = 'a moment in the future such as 2030-01-31T09:00:00Z'
  throw new UsageError(`--expires-at: found "${given}", allowed: ${allowed}`)
}

async function list({ words, options, database }: Call): Promise<Answer> {
  atMost(words, 0)
  const { read } = await database()
  const rows = keysOfWorkspace(read, { workspaceId: chosenWorkspace(read, options) })
  const lines = rows.map((row) => [row.id, row.name, row.key_prefix, moment(row.last_used_at), moment(row.revoked_at)])
  return {
    json: { data: rows.map(keyResource) },
    lines: table(['ID', 'NAME', 'PREFIX', 'LAST USED', 'REVOKED'], lines),
  }
}

async function revoke({ words, options, database, clock }: Call): Promise<Answer> {
  atMost(words, 1)
  const id = word(words, 0, 'ID')
  const at = clock()
  const { read, commit } = await database()
  const workspaceId = chosenWorkspace(read, options)
  try {
    await commit(endKey({ workspaceId, id, at }, operator))
  } catch (error) {
    if (error instanceof Missed) throw new CommandFailed(`no key ${id} in this workspace that could be revoked`)
    throw error
  }
  return { json: { id, revoked_at: timestamp(at) }, lines: [`revoked ${id}`] }
}
