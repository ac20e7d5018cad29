/** What was seen of the client and the connection that brought a message, for its spam score. */
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`alter table inbound_emails add column arrival text not null default '{}'`).execute(db)
}
