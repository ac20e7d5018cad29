/**
 * Stores what became of an inbound email that forwarding rules match: a row for each address. The rows are removed with
 * the email's record.
 */
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

/** Inserts a row, unless there is one for the address. */
export const insertForward = prepareWrite<Tables['inbound_forwards']>(({ db, slot }) =>
  db
    .insertInto('inbound_forwards')
    .values({
      workspace_id: slot('workspace_id'),
      inbound_id: slot('inbound_id'),
      target: slot('target'),
      rule_id: slot('rule_id'),
      status: slot('status'),
      reason: slot('reason'),
      email_id: slot('email_id'),
      created_at: slot('created_at'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)

export const removeForwards = prepareWrite<{ id: string; workspaceId: string }>(({ db, slot }) =>
  db
    .deleteFrom('inbound_forwards')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('inbound_id', '=', slot('id')),
)

/** Reads the rows with the state of their recipients, as long as that is stored. */
export const forwardsOfInbound = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_forwards as forward')
    .leftJoin('recipients', (join) =>
      join.onRef('recipients.email_id', '=', 'forward.email_id').onRef('recipients.address', '=', 'forward.target'),
    )
    .select([
      ...(['forward.target', 'forward.rule_id', 'forward.status', 'forward.reason'] as const),
      ...(['recipients.status as state', 'recipients.last_response'] as const),
    ])
    .where('forward.workspace_id', '=', slot('workspaceId'))
    .where('forward.inbound_id', '=', slot('id'))
    .orderBy('forward.target'),
)
