/**
 * The record of an audience: a named list of contacts.
 *
 * A commit that adds a contact to an audience has `assertAudienceExists`. So no contact is added to a
 * deleted audience, and its contacts can be removed afterwards (`audience-removal.ts`).
 */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { type PageSlice, seekOffset } from '../../base/storage/db/paging.js'
import { prepareRead, prepareWrite, queryBuilder, type Read, toWrite } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type Audience = Tables['audiences']
export type CountedAudience = Audience & { readonly contacts_count: number }

export const insertAudience = prepareWrite<Audience>(({ db, slot }) =>
  db.insertInto('audiences').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    name: slot('name'),
    description: slot('description'),
    created_at: slot('created_at'),
    updated_at: slot('updated_at'),
  }),
)

export type AudienceChange = Partial<Pick<Audience, 'name' | 'description'>>

/** Misses when there is no such audience in the workspace. */
export function changeAudience(
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
  change: AudienceChange & Pick<Audience, 'updated_at'>,
): Write {
  const audience = queryBuilder.updateTable('audiences').where('workspace_id', '=', workspaceId).where('id', '=', id)
  return toWrite(audience.set(change), 1)
}

/** Changes nothing, and misses when there is no such audience in the workspace. */
export const assertAudienceExists = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db
      .updateTable('audiences')
      .set((eb) => ({ name: eb.ref('name') }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id')),
  1,
)

const columns = [
  'audiences.id',
  'audiences.workspace_id',
  'audiences.name',
  'audiences.description',
  'audiences.created_at',
  'audiences.updated_at',
] as const

/** Selects the audiences with the number of their contacts. */
const selectCounted = (db: typeof queryBuilder) =>
  db
    .selectFrom('audiences')
    .select(columns)
    .select((eb) =>
      eb.fn
        .coalesce(
          eb
            .selectFrom('contact_counts')
            .select((inner) => inner.fn.sum<number>('count').as('count'))
            .whereRef('contact_counts.workspace_id', '=', 'audiences.workspace_id')
            .whereRef('contact_counts.list', '=', 'audiences.id'),
          eb.lit(0),
        )
        .as('contacts_count'),
    )

const byId = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  selectCounted(db).where('audiences.workspace_id', '=', slot('workspaceId')).where('audiences.id', '=', slot('id')),
)

/** An upper bound of all ids, which are hexadecimal. */
const MAX_ID = 'g'

const skipAudiences = prepareRead<{ workspaceId: string; before: string; skip: number }>()(({ db, slot }) =>
  db
    .selectFrom('audiences')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(1)
    .offset(slot('skip')),
)

/** Newest first. */
export async function listAudiences(
  read: Read,
  workspaceId: string,
  { after, offset, limit }: PageSlice,
): Promise<readonly CountedAudience[]> {
  const findSkippedId = async (before: string, skip: number) =>
    (await skipAudiences(read, { workspaceId, before, skip }))[0]?.id
  const before = await seekOffset(after ?? MAX_ID, offset, findSkippedId)
  return before === null ? [] : await listAudiencesBefore(read, { workspaceId, before, limit })
}

const listAudiencesBefore = prepareRead<{ workspaceId: string; before: string; limit: number }>()(({ db, slot }) =>
  selectCounted(db)
    .where('audiences.workspace_id', '=', slot('workspaceId'))
    .where('audiences.id', '<', slot('before'))
    .orderBy('audiences.id', 'desc')
    .limit(slot('limit')),
)

export async function audienceById(read: Read, workspaceId: string, id: string): Promise<CountedAudience | undefined> {
  return (await byId(read, { workspaceId, id }))[0]
}

/** Throws a Refusal `audience-not-found`. */
export async function requireAudience(read: Read, workspaceId: string, id: string): Promise<CountedAudience> {
  const found = await audienceById(read, workspaceId, id)
  if (found === undefined) throw buildNotFoundRefusal(id)
  return found
}

export function buildNotFoundRefusal(id: string): Refusal {
  return new Refusal('audience-not-found', `no such audience: ${formatForDisplay(id)}`, { id: formatForDisplay(id) })
}
