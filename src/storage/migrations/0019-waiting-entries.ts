/** What an entry of the queue waits for; and the leases, found without a walk over the queue. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'alter table queue add column waits_for text',
  'create index queue_leased on queue (leased) where leased = 1',
])
