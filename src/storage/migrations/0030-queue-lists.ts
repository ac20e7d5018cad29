/** Indexes of the lists of the queue: of held entries, and of those of one recipient domain. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'create index queue_of_domain on queue (domain, id)',
  'create index queue_held on queue (id) where held <> 0',
])
