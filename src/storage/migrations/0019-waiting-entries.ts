/** What a queue entry waits for, and an index of leases that spares a walk over the queue. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'alter table queue add column waits_for text',
  'create index queue_leased on queue (leased) where leased = 1',
])
