/** Prevents the deletion of an audience while a broadcast has contacts of it left, or waits for its time. */
import { sql } from 'kysely'
import { Refusal } from '../../base/mail/refusal.js'
import {
  prepareRead,
  prepareWrite,
  queryBuilder,
  type Read,
  type StatementBuilder,
} from '../../base/storage/db/prepared.js'

interface AudienceRef {
  readonly workspaceId: string
  readonly id: string
}

/** The first two conditions must be the same as in the index `broadcasts_active`. */
function selectUsing({ slot }: StatementBuilder<AudienceRef>) {
  return queryBuilder
    .selectFrom('broadcasts')
    .select('broadcasts.id')
    .where('status', '<>', sql.lit('draft'))
    .where('finished_at', 'is', null)
    .where('status', 'in', ['scheduled', 'sending', 'paused'])
    .where('expanded', '=', 0)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('id'))
}

const findUsing = prepareRead<AudienceRef>()((builder) => selectUsing(builder).limit(1))

/** Throws a Refusal `conflict` that names one of the broadcasts. */
export async function checkAudienceUnused(read: Read, audience: AudienceRef): Promise<void> {
  const [using] = await findUsing(read, audience)
  if (using === undefined) return
  const message = `the broadcast ${using.id} goes to this audience: cancel it first, or wait for its end`
  throw new Refusal('conflict', message, { id: audience.id, broadcast_id: using.id })
}

/** Changes nothing. Misses if a broadcast needs the audience, or if the workspace has no such audience. */
export const assertAudienceUnused = prepareWrite<AudienceRef>(
  (builder) =>
    builder.db
      .updateTable('audiences')
      .set((eb) => ({ name: eb.ref('name') }))
      .where('workspace_id', '=', builder.slot('workspaceId'))
      .where('id', '=', builder.slot('id'))
      .where(({ not, exists }) => not(exists(selectUsing(builder)))),
  1,
)
