/** Postpones one entry that is not leased, because it waits for something that its lane does not wait for. */
import { prepareWrite } from '../../../base/storage/db/prepared.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { QueueEntry } from './queue.js'

type Read = Pick<QueueEntry, 'id' | 'attempts'> & { readonly dueAt: number }

/** Has no effect if the entry was changed since it was read. No attempt is counted. */
export const postponeEntry = prepareWrite<Read & { readonly until: number; readonly waitsFor: string }>(
  ({ db, slot }) =>
    db
      .updateTable('queue')
      .set({ next_attempt_at: slot('until'), waits_for: slot('waitsFor') })
      .where('id', '=', slot('id'))
      .where('attempts', '=', slot('attempts'))
      .where('next_attempt_at', '=', slot('dueAt'))
      .where('leased', '=', 0)
      .where('held', '=', HOLD.none),
)
