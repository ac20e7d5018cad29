/**
 * The record of a webhook. It says where events of a workspace are delivered, which of them, and with which secrets.
 *
 * A new webhook, and one that is enabled again, begins with the next event: the statement that writes it sets its
 * cursor to the newest `seq`, for all slots. So it delivers no earlier event and misses no later one: one that is stored
 * afterwards has a greater `seq`, in whichever slot.
 */
import { sql, type UpdateObject } from 'kysely'
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { randomSecret } from '../../base/platform/ids.js'
import {
  prepareRead,
  prepareWrite,
  queryBuilder,
  type Read,
  readTogether,
  toWrite,
} from '../../base/storage/db/prepared.js'
import { selectSameOwner } from '../../base/storage/db/same-owner.js'
import type { Write } from '../../base/storage/db/write.js'
import { type Json, type Timestamp, toJson } from '../../base/storage/tables/columns.js'
import type { EventType } from '../../base/storage/tables/email-tables.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import type { WebhookContent, WebhookFormat } from '../../base/storage/tables/webhook-tables.js'
import type { OwnHeaders } from './settings/own-headers.js'
import { generateVerificationKeys } from './settings/verification-key.js'

export type Webhook = Tables['webhooks']

/** Webhooks of all workspaces of an owner. */
export const MAX_WEBHOOKS = 50

const SECRET_BYTES = 32
/** Milliseconds for which a replaced secret still signs `webhook-signature`. */
const SECRET_OVERLAP = 24 * 3_600_000

interface NewWebhook {
  readonly id: string
  readonly workspaceId: string
  readonly url: string
  readonly events: Json<readonly EventType[]>
  readonly secret: string
  readonly now: number
  /** `posthorn` if it is absent. */
  readonly format?: WebhookFormat
  /** `none` if it is absent. */
  readonly content?: WebhookContent
  readonly headers?: OwnHeaders
  /** `user:password`. */
  readonly login?: string | null
}

type NewRow = Required<Omit<NewWebhook, 'headers'>> &
  Pick<Webhook, 'headers' | 'verification_key' | 'verification_secret'>

/** This takes constant time, because it reads the end of the primary key. */
const newestSeq = sql<number>`(select coalesce(max(seq), 0) from events)`

const columns = [
  ...(['id', 'workspace_id', 'url', 'events', 'enabled', 'secret', 'event_cursor'] as const),
  ...(['replay_day', 'replayed', 'created_at', 'updated_at'] as const),
  ...(['format', 'content', 'headers', 'login', 'verification_key', 'verification_secret'] as const),
] as const

const insert = prepareWrite<NewRow & { readonly max: number }>(({ db, slot }) => {
  const row = db
    .selectNoFrom((eb) => [
      eb.val(slot('id')).as('id'),
      eb.val(slot('workspaceId')).as('workspace_id'),
      eb.val(slot('url')).as('url'),
      eb.val(slot('events')).as('events'),
      eb.lit(1).as('enabled'),
      eb.val(slot('secret')).as('secret'),
      newestSeq.as('event_cursor'),
      eb.lit(0).as('replay_day'),
      eb.lit(0).as('replayed'),
      eb.val(slot('now')).as('created_at'),
      eb.val(slot('now')).as('updated_at'),
      eb.val(slot('format')).as('format'),
      eb.val(slot('content')).as('content'),
      eb.val(slot('headers')).as('headers'),
      eb.val(slot('login')).as('login'),
      eb.val(slot('verification_key')).as('verification_key'),
      eb.val(slot('verification_secret')).as('verification_secret'),
    ])
    .where(
      sql<boolean>`(select count(*) from webhooks where workspace_id in
        ${selectSameOwner(slot('workspaceId'))}) < ${slot('max')}`,
    )
  return db.insertInto('webhooks').columns(columns).expression(row)
}, 1)

/** Misses if the workspaces of the owner have `MAX_WEBHOOKS` already. */
export function insertWebhook(webhook: NewWebhook): Write {
  const { format = 'posthorn', content = 'none', headers = {}, login = null } = webhook
  const keys = format === 'sendgrid' ? generateVerificationKeys() : noKeys
  return insert({ ...webhook, format, content, headers: toJson(headers), login, ...keys, max: MAX_WEBHOOKS })
}

const noKeys = { verification_key: null, verification_secret: null }

export interface WebhookRef {
  readonly workspaceId: string
  readonly id: string
}

const byId = prepareRead<WebhookRef>()(({ db, slot }) =>
  db.selectFrom('webhooks').selectAll().where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
)

export async function webhookById(read: Read, ref: WebhookRef): Promise<Webhook | undefined> {
  return (await byId(read, ref))[0]
}

/** Throws a Refusal `webhook-not-found`. */
export async function requireWebhook(read: Read, ref: WebhookRef): Promise<Webhook> {
  const found = await webhookById(read, ref)
  if (found === undefined) throw buildWebhookNotFound(ref.id)
  return found
}

/** The webhooks of a workspace, newest first. There are at most `MAX_WEBHOOKS`. */
export const webhooksOfWorkspace = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('webhooks').selectAll().where('workspace_id', '=', slot('workspaceId')).orderBy('id', 'desc'),
)

const lastAttempt = prepareRead<{ id: string }>()(({ db, slot }) =>
  db
    .selectFrom('webhook_cursors')
    .select(['webhook_id', 'last_status', 'last_at', 'last_response_status'])
    .where('webhook_id', '=', slot('id'))
    .where('last_at', 'is not', null)
    .orderBy('last_at', 'desc')
    .limit(1),
)

export type LastAttempt = Awaited<ReturnType<typeof lastAttempt>>[number]

/** The last attempt of each of these webhooks, by whichever node, under the id of the webhook. */
export async function readLastAttempts(
  read: Read,
  webhooks: readonly Pick<Webhook, 'id'>[],
): Promise<ReadonlyMap<string, LastAttempt>> {
  const found = await readTogether(
    read,
    webhooks.map(({ id }) => lastAttempt.with({ id })),
  )
  return new Map(found.flat().map((attempt) => [attempt.webhook_id, attempt]))
}

export function buildWebhookNotFound(id: string): Refusal {
  return new Refusal('webhook-not-found', `no such webhook: ${formatForDisplay(id)}`, { id: formatForDisplay(id) })
}

export interface WebhookChange {
  readonly url?: string
  readonly events?: readonly EventType[]
  readonly enabled?: boolean
  readonly format?: WebhookFormat
  readonly content?: WebhookContent
  readonly headers?: OwnHeaders
  readonly login?: string | null
}

/** Misses when there is no such webhook in the workspace. A new URL has not failed yet. */
export function changeWebhook({ workspaceId, id }: WebhookRef, change: WebhookChange, now: Timestamp): Write {
  const { url, events, enabled, format, content, headers, login } = change
  const webhook = queryBuilder.updateTable('webhooks').where('workspace_id', '=', workspaceId).where('id', '=', id)
  return toWrite(
    webhook.set({
      ...(enabled === undefined ? {} : toEnabled(enabled)),
      ...(url === undefined ? {} : { url, failing_since: null }),
      ...(events === undefined ? {} : { events: toJson(events) }),
      ...(format === undefined ? {} : toFormat(format)),
      ...(content === undefined ? {} : { content }),
      ...(headers === undefined ? {} : { headers: toJson(headers) }),
      ...(login === undefined ? {} : { login }),
      updated_at: now,
    }),
    1,
  )
}

/** A webhook keeps its key pair, so that receivers keep their key. */
function toFormat(format: WebhookFormat): UpdateObject<Tables, 'webhooks'> {
  if (format !== 'sendgrid') return { format }
  const keys = generateVerificationKeys()
  return {
    format,
    verification_key: sql<string>`coalesce(verification_key, ${keys.verification_key})`,
    verification_secret: sql<string>`case when verification_key is null then ${keys.verification_secret}
      else verification_secret end`,
  }
}

/** Changes nothing if the webhook is enabled already. SQLite reads the row as it was before. */
function toEnabled(enabled: boolean): UpdateObject<Tables, 'webhooks'> {
  if (!enabled) return { enabled: 0 }
  return {
    enabled: 1,
    disabled_reason: null,
    event_cursor: sql<number>`case when enabled = 0 then ${newestSeq} else event_cursor end`,
    failing_since: sql<number | null>`case when enabled = 0 then null else failing_since end`,
  }
}

const replaceSecret = prepareWrite<WebhookRef & { secret: string; overlap: Timestamp; now: Timestamp }>(
  ({ db, slot }) =>
    db
      .updateTable('webhooks')
      .set((eb) => ({
        previous_secret: eb.ref('secret'),
        previous_secret_until: slot('overlap'),
        secret: slot('secret'),
        updated_at: slot('now'),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id')),
  1,
)

/** Misses when there is no such webhook in the workspace. */
export function rotateSecret(ref: WebhookRef, secret: string, now: Timestamp): Write {
  return replaceSecret({ ...ref, secret, overlap: now + SECRET_OVERLAP, now })
}

/** Throws a Refusal: `webhook-not-found`, or `conflict` if the webhook is disabled. */
export async function requireEnabledWebhook(read: Read, ref: WebhookRef): Promise<Webhook> {
  const webhook = await requireWebhook(read, ref)
  if (webhook.enabled === 1) return webhook
  const message = 'the webhook is disabled and nothing is delivered to it: enable it first'
  throw new Refusal('conflict', message, { id: webhook.id, disabled_reason: webhook.disabled_reason })
}

/**
 * Makes the secret of a webhook: `whsec_` and the base64 of 32 random bytes, the form of Standard Webhooks.
 *
 * We store it in clear, because we sign each request with it. Only the answer that makes a secret shows it.
 */
export function generateWebhookSecret(): string {
  return `whsec_${randomSecret(SECRET_BYTES).toString('base64')}`
}
