/** Indexes for the pages of audiences: counting subscribed contacts, and the clicks of a broadcast in their order. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'drop index contacts_of_audience',
  // With the subscription, so that counting reads the index alone.
  'create index contacts_of_audience on contacts (workspace_id, audience_id, id, subscribed)',
  `create index clicks_of_broadcasts on events (workspace_id, json_extract(data, '$.broadcast_id'), seq,
      json_extract(data, '$.machine'), json_extract(data, '$.url'))
    where type = 'email.clicked' and email_id >= 'bc-' and email_id < 'bc.'`,
])
