/** The MTA-STS policies in the database, which hold until they expire, across restarts. They belong to no workspace. */
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { StsPoliciesTable } from '../../../base/storage/tables/delivery-tables.js'

export const listStsPolicies = prepareRead<{ limit: number }>()(({ db, slot }) =>
  db.selectFrom('sts_policies').selectAll().orderBy('domain').limit(slot('limit')),
)

export const putStsPolicy = prepareWrite<StsPoliciesTable>(({ db, slot }) =>
  db.replaceInto('sts_policies').values({
    domain: slot('domain'),
    policy_id: slot('policy_id'),
    mode: slot('mode'),
    patterns: slot('patterns'),
    max_age: slot('max_age'),
    fetched_at: slot('fetched_at'),
  }),
)

export const removeStsPolicy = prepareWrite<{ domain: string }>(({ db, slot }) =>
  db.deleteFrom('sts_policies').where('domain', '=', slot('domain')),
)
