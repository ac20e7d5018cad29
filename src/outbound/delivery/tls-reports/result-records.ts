/** Stores the counted sessions of a day and domain until their report is settled. */
import { sql } from 'kysely'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

export type StoredPolicy = Tables['tls_policies']
export type StoredResult = Tables['tls_results']

export const insertPolicy = prepareWrite<StoredPolicy>(({ db, slots }) =>
  db
    .insertInto('tls_policies')
    .values(slots(['day', 'domain', 'policy', 'type', 'strings', 'hosts']))
    .onConflict((conflict) => conflict.columns(['day', 'domain', 'policy']).doNothing()),
)

export const addSessions = prepareWrite<StoredResult>(({ db, slots }) =>
  db
    .insertInto('tls_results')
    .values(slots(['day', 'domain', 'policy', 'result', 'mx_host', 'receiving_ip', 'sending_ip', 'detail', 'sessions']))
    .onConflict((conflict) =>
      conflict
        .columns(['day', 'domain', 'policy', 'result', 'mx_host', 'receiving_ip', 'sending_ip'])
        .doUpdateSet({ sessions: sql`tls_results.sessions + excluded.sessions` }),
    ),
)

export const countRowsOfDay = prepareRead<{ day: string }>()(({ db, slot }) =>
  db
    .selectFrom('tls_results')
    .select((eb) => eb.fn.countAll<number>().as('rows'))
    .where('day', '=', slot('day')),
)

export const policiesOf = prepareRead<{ day: string; domain: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('tls_policies')
    .selectAll()
    .where('day', '=', slot('day'))
    .where('domain', '=', slot('domain'))
    .orderBy('policy')
    .limit(slot('limit')),
)

export const resultsOf = prepareRead<{ day: string; domain: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('tls_results')
    .selectAll()
    .where('day', '=', slot('day'))
    .where('domain', '=', slot('domain'))
    .orderBy('policy')
    .orderBy('result')
    .orderBy('mx_host')
    .limit(slot('limit')),
)

/** Reads the first day between two others on which sessions were counted. */
export const firstDayBetween = prepareRead<{ after: string; before: string }>()(({ db, slot }) =>
  db
    .selectFrom('tls_policies')
    .select('day')
    .where('day', '>', slot('after'))
    .where('day', '<', slot('before'))
    .orderBy('day')
    .limit(1),
)

export const domainsOfDay = prepareRead<{ day: string; after: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('tls_policies')
    .select('domain')
    .distinct()
    .where('day', '=', slot('day'))
    .where('domain', '>', slot('after'))
    .orderBy('domain')
    .limit(slot('limit')),
)

export const removeResults = prepareWrite<{ day: string; domain: string }>(({ db, slot }) =>
  db.deleteFrom('tls_results').where('day', '=', slot('day')).where('domain', '=', slot('domain')),
)

export const removePolicies = prepareWrite<{ day: string; domain: string }>(({ db, slot }) =>
  db.deleteFrom('tls_policies').where('day', '=', slot('day')).where('domain', '=', slot('domain')),
)
