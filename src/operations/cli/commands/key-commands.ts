/** `key create|list|revoke`: the API keys of a workspace. */

import { type Address, tryParseAddress, tryParseDomainName } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { parseNetwork } from '../../../base/platform/ip-address.js'
import { WriteConflict } from '../../../base/storage/db/write.js'
import type { Scope } from '../../../base/storage/tables/account-tables.js'
import { parseTimestamp } from '../../../outbound/sending/schedule.js'
import { checkKeySender } from '../../../outbound/sending/sender-policy.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import { scopes } from '../../../workspaces/accounts/access/principal.js'
import { generateKey, keysOfWorkspace } from '../../../workspaces/accounts/keys/api-keys.js'
import { createKeyAudited, revokeKeyAudited } from '../../../workspaces/accounts/keys/audited-keys.js'
import { MAX_LIMIT_ITEMS } from '../../../workspaces/accounts/keys/key-limits.js'
import { toCreatedKeyResource, toKeyResource } from '../../../workspaces/accounts/keys/key-resource.js'
import { ownerOf } from '../../../workspaces/accounts/workspace/workspaces.js'
import { SendingDomainCache } from '../../../workspaces/domains/sending-domain-cache.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  type OptionValues,
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
  const limits = {
    expiresAt: parseExpiry(textOption(options, 'expires-at'), now),
    allowedDomains: parseList(options, 'domains', 'a domain name', tryParseDomainName),
    allowedNetworks: parseList(options, 'networks', 'an address, or a network such as 192.0.2.0/24', (text) => {
      return parseNetwork(text)?.text ?? null
    }),
  }
  const sender = parseSender(textOption(options, 'sender'))
  const { read, commit } = await database()
  const workspaceId = await chooseWorkspace(read, options)
  if (sender !== null) await checkKeySender({ workspaceId, ...limits }, sender, new SendingDomainCache(read))
  const owner = (await ownerOf(read, { workspaceId }))[0]
  if (owner === undefined) throw new CommandFailed(`the workspace ${workspaceId} has no owner`)
  const key = generateKey({ workspaceId, userId: owner.user_id, name, now, scopes: granted, sender, ...limits })
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

/** The items of an option, separated by commas. An option that is not given has none, and limits nothing. */
function parseList<Item extends string>(
  options: OptionValues,
  name: string,
  allowed: string,
  parse: (text: string) => Item | null,
): readonly Item[] {
  const items = textOption(options, name)?.split(',') ?? []
  if (items.length > MAX_LIMIT_ITEMS)
    throw new UsageError(`--${name}: found ${items.length}, allowed: at most ${MAX_LIMIT_ITEMS}`)
  return items.map((item) => {
    const parsed = parse(item.trim())
    if (parsed === null) throw new UsageError(`--${name}: found "${item.trim()}", allowed: ${allowed}`)
    return parsed
  })
}

function parseSender(given: string | undefined): Address | null {
  if (given === undefined) return null
  const address = tryParseAddress(given)
  if (address !== null) return address
  throw new UsageError(`--sender: found "${given}", allowed: an address in a verified domain such as host1@example.com`)
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
  const rows = await keysOfWorkspace(read, { workspaceId: await chooseWorkspace(read, options) })
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
  const workspaceId = await chooseWorkspace(read, options)
  try {
    await commit(revokeKeyAudited({ workspaceId, id, at }, operatorActor))
  } catch (error) {
    if (error instanceof WriteConflict) throw new CommandFailed(`no key ${id} in this workspace that could be revoked`)
    throw error
  }
  return { json: { id, revoked_at: formatTimestamp(at) }, lines: [`revoked ${id}`] }
}
