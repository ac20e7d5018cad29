/** Reads and changes of codes that are checked. Each change asserts the state and the attempts that it was decided from. */
import { sql } from 'kysely'
import { prepareRead, prepareWrite } from '../storage/prepared.js'
import type { CodeRow } from './sms-records.js'

interface PhoneRef {
  readonly workspaceId: string
  readonly phone: string
}

const pendingCode = prepareRead<PhoneRef>()(({ db, slot }) =>
  db
    .selectFrom('sms_codes')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('phone', '=', slot('phone'))
    .where('status', '=', sql.lit('pending' as const)),
)
