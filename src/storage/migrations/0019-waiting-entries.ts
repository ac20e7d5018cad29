/** What an entry of the queue waits for; and the leases, found without a walk over the queue. */
import { type Kysely, sql } from 'kysely'

const statements = [
  'alter table queue add column waits_for text',
  'create index queue_leased on queue (leased) where leased = 1',
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
