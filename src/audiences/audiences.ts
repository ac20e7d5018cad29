/**
 * The record of an audience: a named list of contacts.
 *
 * Whoever puts a contact into an audience joins `audienceStays` to the commit. So nothing
 * comes into an audience once it is deleted, and its contacts can be removed afterwards
 * (`audience-removal.ts`).
 */
import { shown } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { prepareRead, prepareWrite, type Read, statements, writeOf } from '../storage/prepared.js'
import type { Tables } from '../storage/tables.js'
import type { Write } from '../storage/write.js'

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
  const audience = statements.updateTable('audiences').where('workspace_id', '=', workspaceId).where('id', '=', id)
  return writeOf(audience.set(change), 1)
}

/** Changes nothing; misses when there is no such audience in the workspace. */
export const audienceStays = prepareWrite<{ workspaceId: string; id: string }>(
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

const byId = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db
    .selectFrom('audiences')
    .leftJoin('contact_counts', (join) =>
      join
        .onRef('contact_counts.workspace_id', '=', 'audiences.workspace_id')
        .onRef('contact_counts.list', '=', 'audiences.id'),
    )
    .select(columns)
    .select((eb) => eb.fn.coalesce('contact_counts.count', eb.lit(0)).as('contacts_count'))
    .where('audiences.workspace_id', '=', slot('workspaceId'))
    .where('audiences.id', '=', slot('id')),
)

/** Newest first. */
export const audiencesSlice = prepareRead<{ workspaceId: string; limit: number; offset: number }>()(({ db, slot }) =>
  db
    .selectFrom('audiences')
    .leftJoin('contact_counts', (join) =>
      join
        .onRef('contact_counts.workspace_id', '=', 'audiences.workspace_id')
        .onRef('contact_counts.list', '=', 'audiences.id'),
    )
    .select(columns)
    .select((eb) => eb.fn.coalesce('contact_counts.count', eb.lit(0)).as('contacts_count'))
    .where('audiences.workspace_id', '=', slot('workspaceId'))
    .orderBy('audiences.id', 'desc')
    .limit(slot('limit'))
    .offset(slot('offset')),
)

export function audienceById(read: Read, workspaceId: string, id: string): CountedAudience | undefined {
  return byId(read, { workspaceId, id })[0]
}

/** Throws a Refusal `audience-not-found`. */
export function foundAudience(read: Read, workspaceId: string, id: string): CountedAudience {
  const found = audienceById(read, workspaceId, id)
  if (found === undefined) throw unknownAudience(id)
  return found
}

export function unknownAudience(id: string): Refusal {
  return new Refusal('audience-not-found', `no such audience: ${shown(id)}`, { id: shown(id) })
}
