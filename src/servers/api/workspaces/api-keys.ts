/**
 * The routes of API keys: create, list, revoke. The secret is only in the answer that creates a key.
 *
 * A new key belongs to the user of the requesting key, and acts with that user's role in its
 * workspace. It may never do more than the key that created it, nor, if that is limited, in another workspace; a
 * session has no limits but the role.
 */

import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { checkKeySender, type VerifiedDomains } from '../../../outbound/sending/sender-policy.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { scopes } from '../../../workspaces/accounts/access/principal.js'
import {
  type ApiKeyRow,
  countLiveKeys,
  generateKey,
  keyById,
  listKeys,
  MAX_LIVE_KEYS,
} from '../../../workspaces/accounts/keys/api-keys.js'
import { createKeyByKey, createKeyBySession, revokeKeyAudited } from '../../../workspaces/accounts/keys/audited-keys.js'
import {
  MAX_LIMIT_ITEMS,
  narrowLimits,
  noLimits,
  parseKeyLimits,
} from '../../../workspaces/accounts/keys/key-limits.js'
import { toCreatedKeyResource, toKeyResource } from '../../../workspaces/accounts/keys/key-resource.js'
import { domainById } from '../../../workspaces/domains/rows/sending-domains.js'
import type { Changes } from '../changes.js'
import { type Answer, json } from '../http/answer.js'
import { refuseEmptyList } from '../http/input/absent-fields.js'
import { notBoth } from '../http/input/field-rules.js'
import { buildList, listSchema, sliceAfterQuery, withNext } from '../http/input/paging.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import {
  domainName,
  goneSchema,
  moment,
  name,
  network,
  notFound,
  senderAddress,
  timestamp,
  uuid,
} from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { authorizeInWorkspace } from './named-workspace.js'

interface ApiKeyDeps extends Store {
  readonly domains: VerifiedDomains
  readonly changes: Pick<Changes, 'keyRevoked'>
}

const scopeList = withMaxSize(
  scopes.length,
  'scopes, each once',
  z
    .array(z.enum(scopes, `allowed: ${scopes.join(', ')}`), 'allowed: a list of scopes')
    .min(1, 'allowed: at least one scope')
    .refine((list) => new Set(list).size === list.length, 'allowed: each scope once'),
)

function listOf<T>(item: z.ZodType<T, string>): z.ZodOptional<z.ZodPreprocess<z.ZodArray<z.ZodType<T, string>>>> {
  const allowed = `allowed: a list of at most ${MAX_LIMIT_ITEMS}`
  return withMaxSize(MAX_LIMIT_ITEMS, 'of them', z.array(item, allowed).max(MAX_LIMIT_ITEMS, allowed)).optional()
}

const keyRequest = z
  .strictObject({
    name: name.meta({ description: 'What the key is for.', example: 'shop' }),
    workspace_id: z
      .string('allowed: the id of a workspace')
      .max(100, 'allowed: the id of a workspace')
      .optional()
      .meta({
        description:
          'A workspace that the user of this key belongs to; for an unrestricted key. Default: the workspace of this key.',
      }),
    scopes: refuseEmptyList(
      scopeList.optional().meta({
        description:
          '`full`: everything that the role allows; `send`: send, and read own sends; `read`: read. Default `full`.',
      }),
    ),
    permission: z
      .enum(['full_access', 'sending_access'], 'allowed: full_access, sending_access')
      .optional()
      .meta({ description: 'In place of `scopes`: `full` or `send`.' }),
    expires_at: moment.nullable().optional().meta({ description: 'From then on the key is refused; null: never.' }),
    allowed_networks: listOf(network).meta({ description: 'Networks that may use the key; empty: all.' }),
    allowed_domains: listOf(domainName).meta({
      description: 'Sending domains that the key may use; empty: all of the workspace.',
    }),
    sender: senderAddress.nullable().optional().meta({
      description:
        'An address in a verified domain: it replaces envelope senders and From fields by SMTP that may not be used. Null: such messages are refused.',
      example: 'host1@example.com',
    }),
    domain_id: z
      .string('allowed: the id of a domain')
      .max(100, 'allowed: the id of a domain')
      .optional()
      .meta({ description: 'In place of `allowed_domains`: one domain, by its id.' }),
  })
  .check(
    notBoth('scopes', 'permission', 'says what scopes say: give one'),
    notBoth('allowed_domains', 'domain_id', 'says what allowed_domains says: give one'),
  )
  .meta({ id: 'ApiKeyRequest', example: { name: 'shop', scopes: ['send'], allowed_domains: ['example.com'] } })

const commonFields = {
  id: uuid,
  name: z.string().meta({ example: 'shop' }),
  key_prefix: z.string(),
  created_at: timestamp,
  scopes: z.array(z.enum(scopes)),
  expires_at: timestamp.nullable().meta({ description: 'Null: never.', example: null }),
  allowed_networks: z.array(z.string()),
  allowed_domains: z.array(z.string()),
  sender: z
    .string()
    .nullable()
    .meta({ description: 'Replaces senders that may not be used; null: such messages are refused.', example: null }),
}
const createdKey = z
  .strictObject({
    object: z.literal('api_key'),
    ...commonFields,
    key: z.string(),
    token: z.string().meta({ description: 'The same as `key`.' }),
  })
  .meta({ id: 'CreatedApiKey' })
const listedKey = z
  .strictObject({ ...commonFields, last_used_at: timestamp.nullable(), revoked_at: timestamp.nullable() })
  .meta({ id: 'ApiKey' })

const revokedKey = goneSchema('api_key', uuid).extend({ revoked_at: timestamp }).meta({ id: 'RevokedApiKey' })

const tag = 'API keys'

export function apiKeyRoutes(deps: ApiKeyDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api-keys',
      area: 'admin',
      tag,
      summary: 'Create an API key',
      description: 'Only this answer has the key. It may do at most what the requesting key may.',
      body: keyRequest,
      answers: { 201: { description: 'The key.', schema: createdKey } },
      refusals: ['not_found', 'domain_not_found', 'conflict'],
      run: (call) => create(deps, call),
    }),
    route({
      method: 'GET',
      path: '/api-keys',
      area: 'admin-read',
      tag,
      summary: 'List the API keys of the workspace, with revoked ones, oldest first',
      query: sliceAfterQuery,
      answers: { 200: { description: 'Some of them.', schema: listSchema(listedKey) } },
      refusals: [],
      run: (call) => list(deps, call),
    }),
    route({
      method: 'DELETE',
      path: '/api-keys/:id',
      area: 'admin',
      tag,
      summary: 'Revoke an API key permanently',
      description:
        'The key and its SMTP sessions end at once. Repeated, the answer has the time of the first revocation.',
      answers: { 200: { description: 'It is revoked.', schema: revokedKey } },
      refusals: ['not_found'],
      run: (call) => revoke(deps, call),
    }),
  ]
}

async function list(
  { read }: ApiKeyDeps,
  { principal, query }: Call<z.output<typeof sliceAfterQuery>>,
): Promise<Answer> {
  return json(200, buildList(await listKeys(read, principal.workspaceId, withNext(query)), query.limit, toKeyResource))
}

async function create(
  { read, commit, domains }: ApiKeyDeps,
  { principal, body, now }: Call<undefined, z.output<typeof keyRequest>>,
): Promise<Answer> {
  const workspaceId = body.workspace_id ?? principal.workspaceId
  const { userId } = await authorizeInWorkspace(read, principal, workspaceId, 'admin')
  const { expires_at: expiresAt, allowed_networks: allowedNetworks, domain_id: domainId } = body
  const allowedDomains =
    domainId === undefined ? body.allowed_domains : [await requireDomain(read, workspaceId, domainId)]
  if (typeof expiresAt === 'number' && expiresAt <= now) {
    const value = iso(expiresAt)
    throw new Refusal('invalid-parameter', 'must be in the future', { field: 'expires_at', value })
  }
  const maker = principal.keyId === null ? null : { workspaceId: principal.workspaceId, id: principal.keyId }
  const own = maker === null ? noLimits : parseKeyLimits(await requireLiveKey(read, maker, now))
  const limits = narrowLimits(own, { expiresAt, allowedNetworks, allowedDomains })
  const { name: keyName, sender = null } = body
  const granted = body.scopes ?? [body.permission === 'sending_access' ? 'send' : 'full']
  if (sender !== null) await checkKeySender({ workspaceId, ...limits }, sender, domains)
  const key = generateKey({ workspaceId, userId, name: keyName, now, scopes: granted, sender, ...limits })
  const actor = actorOf(principal)
  const writes = maker === null ? createKeyBySession(key, actor) : createKeyByKey(maker, key, actor)
  if (await tryCommit(commit(writes))) {
    const created = toCreatedKeyResource(key)
    return json(201, { object: 'api_key', ...created, token: created.key })
  }
  if (maker !== null) await requireLiveKey(read, maker, now)
  await authorizeInWorkspace(read, principal, workspaceId, 'admin')
  throw new Refusal('conflict', `a workspace may have at most ${MAX_LIVE_KEYS} keys that are not revoked`, {
    limit: MAX_LIVE_KEYS,
    count: (await countLiveKeys(read, { workspaceId }))[0]?.count ?? 0,
  })
}

/** The name of the domain. Throws a Refusal `domain-not-found`. */
async function requireDomain(read: Read, workspaceId: string, id: string): Promise<string> {
  const [row] = await domainById(read, { workspaceId, id })
  if (row === undefined) throw notFound('domain-not-found', 'domain', id)
  return row.domain
}

/** The requesting key. Throws a Refusal if it is revoked or expired. */
async function requireLiveKey(read: Read, maker: { workspaceId: string; id: string }, now: number): Promise<ApiKeyRow> {
  const [own] = await keyById(read, maker)
  if (own === undefined || own.revoked_at !== null) throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  if (own.expires_at !== null && own.expires_at <= now) throw new Refusal('key-expired', 'the key has expired')
  return own
}

async function revoke({ read, commit, changes }: ApiKeyDeps, { principal, params, now }: Call): Promise<Answer> {
  const { workspaceId } = principal
  const { id = '' } = params
  if (await tryCommit(commit(revokeKeyAudited({ workspaceId, id, at: now }, actorOf(principal)))))
    await changes.keyRevoked(id)
  const revokedAt = (await keyById(read, { workspaceId, id }))[0]?.revoked_at
  if (revokedAt == null) throw notFound('not-found', 'API key', id)
  return json(200, { object: 'api_key', deleted: true, id, revoked_at: iso(revokedAt) })
}
