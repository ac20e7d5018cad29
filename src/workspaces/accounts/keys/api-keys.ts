/**
 * The records of API keys. A key has 256 random bits after the prefix `ph_`, and we store only its SHA-256.
 *
 * We look up a key by its hash, so we compare no secrets and timing reveals nothing. A slow hash is not needed,
 * because 256 bits cannot be guessed.
 */
import { hash } from 'node:crypto'
import type { Address } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { randomSecret, uuidv7 } from '../../../base/platform/ids.js'
import { type CreationPage, isAfterPlace, slicesByCreation } from '../../../base/storage/db/paging.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Scope } from '../../../base/storage/tables/account-tables.js'
import { toJson } from '../../../base/storage/tables/columns.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

export type ApiKeyRow = Tables['api_keys']

export interface NewKey {
  /** The complete key. The answer shows it once, and we store it nowhere. */
  readonly secret: string
  readonly row: ApiKeyRow
}

export interface KeyRequest {
  readonly workspaceId: string
  readonly userId: string
  readonly name: string
  readonly now: number
  readonly scopes?: readonly Scope[]
  readonly expiresAt?: number | null
  readonly allowedNetworks?: readonly string[]
  readonly allowedDomains?: readonly string[]
  readonly sender?: Address | null
}

export function generateKey(request: KeyRequest): NewKey {
  if (request.name.trim() === '' || request.name.length > 100) {
    throw new Refusal('invalid-parameter', 'name: 1 to 100 characters', { field: 'name' })
  }
  const secret = `ph_${randomSecret(32).toString('base64url')}`
  return {
    secret,
    row: {
      id: uuidv7(request.now),
      workspace_id: request.workspaceId,
      user_id: request.userId,
      name: request.name,
      key_hash: hashKey(secret),
      key_prefix: secret.slice(0, PREFIX_LENGTH),
      scopes: toJson(request.scopes ?? ['full']),
      allowed_networks: toJson(request.allowedNetworks ?? []),
      allowed_domains: toJson(request.allowedDomains ?? []),
      created_at: request.now,
      expires_at: request.expiresAt ?? null,
      last_used_at: null,
      revoked_at: null,
      sender: request.sender ?? null,
    },
  }
}

/** Characters of a key that are not secret. Lists and logs show them. */
const PREFIX_LENGTH = 11

/** The part of a client's key that may be shown. It is null if the text does not have the form of a key. */
export function keyPrefixOf(given: string): string | null {
  return given.length > 2 * PREFIX_LENGTH && /^ph_[\w-]+$/.test(given) ? given.slice(0, PREFIX_LENGTH) : null
}

export function hashKey(secret: string): string {
  return hash('sha256', secret)
}

export const insertKey = prepareWrite<ApiKeyRow>(({ db, slot }) =>
  db.insertInto('api_keys').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    user_id: slot('user_id'),
    name: slot('name'),
    key_hash: slot('key_hash'),
    key_prefix: slot('key_prefix'),
    scopes: slot('scopes'),
    allowed_networks: slot('allowed_networks'),
    allowed_domains: slot('allowed_domains'),
    created_at: slot('created_at'),
    expires_at: slot('expires_at'),
    last_used_at: slot('last_used_at'),
    revoked_at: slot('revoked_at'),
    sender: slot('sender'),
  }),
)

/** Misses when there is no such key in the workspace, or it is revoked already. */
export const revokeKey = prepareWrite<{ workspaceId: string; id: string; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('api_keys')
      .set({ revoked_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('revoked_at', 'is', null),
  1,
)

export const touchKey = prepareWrite<{ id: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('api_keys')
    .set({ last_used_at: slot('at') })
    .where('id', '=', slot('id')),
)

/** Keys of a workspace that are not revoked. The command line has no such limit. */
export const MAX_LIVE_KEYS = 1_000

/**
 * Records the use of a key that creates another key. It comes first in the commit. Misses when the key is revoked or
 * expired, when its user may no longer make keys for that workspace, or when the workspace has `MAX_LIVE_KEYS`. So
 * the conditions that we check before the commit still hold in it.
 */
export const touchCreatorKey = prepareWrite<{
  workspaceId: string
  id: string
  at: number
  /** The workspace of the new key. */
  forWorkspace: string
  userId: string
}>(
  ({ db, slot }) =>
    db
      .updateTable('api_keys')
      .set({ last_used_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('revoked_at', 'is', null)
      .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', slot('at'))]))
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('members')
            .select('members.user_id')
            .where('members.workspace_id', '=', slot('forWorkspace'))
            .where('members.user_id', '=', slot('userId'))
            .where('members.role', 'in', ['owner', 'admin']),
        ),
      )
      .where(
        ({ selectFrom }) =>
          selectFrom('api_keys as live')
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .where('live.workspace_id', '=', slot('forWorkspace'))
            .where('live.revoked_at', 'is', null),
        '<',
        MAX_LIVE_KEYS,
      ),
  1,
)

/**
 * Changes nothing. It comes first in the commit of a key that a user creates with a session. Misses when the user
 * may no longer make keys for that workspace, or when the workspace has `MAX_LIVE_KEYS`.
 */
export const requireKeyCreator = prepareWrite<{ workspaceId: string; userId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set((eb) => ({ role: eb.ref('role') }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('userId'))
      .where('role', 'in', ['owner', 'admin'])
      .where(
        ({ selectFrom }) =>
          selectFrom('api_keys as live')
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .where('live.workspace_id', '=', slot('workspaceId'))
            .where('live.revoked_at', 'is', null),
        '<',
        MAX_LIVE_KEYS,
      ),
  1,
)

export const countLiveKeys = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('api_keys')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('revoked_at', 'is', null),
)

/** Selects a key with the present role of its member. The role is null when the user is no longer a member. */
function selectKeysWithRole<Values>({ db }: StatementBuilder<Values>) {
  return db
    .selectFrom('api_keys')
    .leftJoin('members', (join) =>
      join
        .onRef('members.user_id', '=', 'api_keys.user_id')
        .onRef('members.workspace_id', '=', 'api_keys.workspace_id'),
    )
    .selectAll('api_keys')
    .select('members.role')
}

export const keyByHash = prepareRead<{ hash: string }>()((builder) =>
  selectKeysWithRole(builder).where('api_keys.key_hash', '=', builder.slot('hash')),
)

export const keyById = prepareRead<{ workspaceId: string; id: string }>()((builder) =>
  selectKeysWithRole(builder)
    .where('api_keys.id', '=', builder.slot('id'))
    .where('api_keys.workspace_id', '=', builder.slot('workspaceId')),
)

function selectKeys<Values extends { workspaceId: string }>({ db, slot }: StatementBuilder<Values>) {
  return db
    .selectFrom('api_keys')
    .select(['id', 'name', 'key_prefix', 'scopes', 'allowed_networks', 'allowed_domains'])
    .select(['created_at', 'expires_at', 'last_used_at', 'revoked_at', 'sender'])
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('created_at')
    .orderBy('id')
}

export const keysOfWorkspace = prepareRead<{ workspaceId: string }>()((builder) => selectKeys(builder))

const keysAfter = prepareRead<CreationPage>()((builder) =>
  selectKeys(builder).where(isAfterPlace(builder)).limit(builder.slot('limit')),
)

/** A page of the keys, in the same order. The list keeps revoked keys, so it may be long. */
export const listKeys = slicesByCreation('api_keys', keysAfter)
